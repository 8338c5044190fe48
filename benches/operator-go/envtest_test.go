package main

import (
	"context"
	"os"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// The test of the book's chapter about envtest. It is compiled by `go vet`; to run, it needs kube-apiserver and etcd.
func TestCreatesTheDeployment(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("set KUBEBUILDER_ASSETS to the folder of kube-apiserver and etcd")
	}
	scheme := runtime.NewScheme()
	must(t, clientgoscheme.AddToScheme(scheme))
	addToScheme(scheme)
	widget := &Widget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: WidgetSpec{Image: "nginx", Replicas: 1}}
	// ANCHOR: envtest
	environment := &envtest.Environment{CRDDirectoryPaths: []string{"../../config/crd/bases"}}
	config, err := environment.Start()
	must(t, err)
	defer func() { must(t, environment.Stop()) }()

	manager, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	must(t, setupWidgets(manager, &reconciler{manager.GetClient(), scheme, manager.GetEventRecorder("widgets")}))
	stopped := make(chan error, 1)
	go func() { stopped <- manager.Start(ctx) }()
	defer func() {
		cancel()
		must(t, <-stopped)
	}()

	c, err := client.New(config, client.Options{Scheme: scheme})
	must(t, err)
	must(t, c.Create(ctx, widget))
	var deployment appsv1.Deployment
	must(t, wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(widget), &deployment)
		return err == nil, client.IgnoreNotFound(err)
	}))
	// ANCHOR_END: envtest
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
