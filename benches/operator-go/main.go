// The benchmark's operator with controller-runtime: a Widget owns a Deployment and mirrors its status; each change causes an event.
// The other two operators are ../src/kubewright/operator.rs and ../src/kube_runtime/operator.rs.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// The number of concurrent reconciles, as in the other two operators.
const workers = 8

var reconciles atomic.Int64

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func command(arguments []string) error {
	switch {
	case len(arguments) == 0:
		return run()
	case len(arguments) == 1 && arguments[0] == "idle":
		return idle()
	case len(arguments) == 2 && arguments[0] == "reconcile":
		return measureReconcile(arguments[1])
	case len(arguments) == 3 && arguments[0] == "webhooks":
		return webhooks(arguments[1], arguments[2])
	}
	return fmt.Errorf("unknown command: use no command (the whole operator), idle, reconcile KEYS, or webhooks ADDRESS CERTIFICATES")
}

// newManager returns a manager with the settings that all operators of this program share. Without a webhook server it has the default one,
// which does not start before it is used.
func newManager(webhooks webhook.Server) (ctrl.Manager, error) {
	ctrl.SetLogger(zap.New())
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	addToScheme(scheme)
	return ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		Metrics:                metricsserver.Options{BindAddress: "127.0.0.1:0"},
		HealthProbeBindAddress: "127.0.0.1:0",
		WebhookServer:          webhooks,
	})
}

func run() error {
	manager, err := newManager(nil)
	if err != nil {
		return err
	}
	// ANCHOR: setup
	err = ctrl.NewControllerManagedBy(manager).
		For(&Widget{}).
		Owns(&appsv1.Deployment{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(&reconciler{manager.GetClient(), manager.GetScheme(), manager.GetEventRecorder("widgets")})
	// ANCHOR_END: setup
	if err != nil {
		return err
	}
	go answerCountRequests()
	return manager.Start(ctrl.SetupSignalHandler())
}

// answerCountRequests answers each input line with the number of reconciles. The process exits at the end of its input.
func answerCountRequests() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println("reconciles", reconciles.Load())
	}
	os.Exit(0)
}

// ANCHOR: reconcile
type reconciler struct {
	client.Client
	scheme *runtime.Scheme
	events events.EventRecorder
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	reconciles.Add(1)
	var widget Widget
	if err := r.Get(ctx, request.NamespacedName, &widget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var deployment appsv1.Deployment
	reason := "Changed"
	err := r.Get(ctx, request.NamespacedName, &deployment)
	switch {
	case apierrors.IsNotFound(err):
		deployment = newDeployment(&widget)
		if err := ctrl.SetControllerReference(&widget, &deployment, r.scheme); err != nil {
			return ctrl.Result{}, err
		}
		if err := r.Create(ctx, &deployment); err != nil {
			return ctrl.Result{}, err
		}
		reason = "Created"
	case err != nil:
		return ctrl.Result{}, err
	case *deployment.Spec.Replicas != widget.Spec.Replicas:
		deployment.Spec.Replicas = &widget.Spec.Replicas
		if err := r.Update(ctx, &deployment); err != nil {
			return ctrl.Result{}, err
		}
		reason = "Scaled"
	}
	status := WidgetStatus{Replicas: *deployment.Spec.Replicas, ReadyReplicas: deployment.Status.ReadyReplicas}
	if widget.Status != nil && *widget.Status == status {
		return ctrl.Result{}, nil
	}
	widget.Status = &status
	if err := r.Status().Update(ctx, &widget); err != nil {
		return ctrl.Result{}, err
	}
	r.events.Eventf(&widget, nil, corev1.EventTypeNormal, reason, "Reconcile",
		"%d of %d replicas are ready", status.ReadyReplicas, status.Replicas)
	return ctrl.Result{}, nil
}

// ANCHOR_END: reconcile

func newDeployment(widget *Widget) appsv1.Deployment {
	labels := map[string]string{"widget": widget.Name}
	return appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: widget.Name, Namespace: widget.Namespace, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &widget.Spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "widget", Image: widget.Spec.Image}}},
			},
		},
	}
}
