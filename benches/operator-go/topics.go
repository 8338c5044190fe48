package main

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Topics of the book that the benchmark's operator lacks. The book includes these functions beside those of kubewright; nothing calls them.

// ANCHOR: predicate
func setupNodeLabeler(m ctrl.Manager, r reconcile.Reconciler) error {
	return ctrl.NewControllerManagedBy(m).
		For(&corev1.Node{}, builder.WithPredicates(predicate.LabelChangedPredicate{})).
		Complete(r)
}

// ANCHOR_END: predicate

// ANCHOR: permissions
// +kubebuilder:rbac:groups=bench.kubewright.dev,resources=widgets,verbs=get;list;watch
// +kubebuilder:rbac:groups=bench.kubewright.dev,resources=widgets/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// ANCHOR_END: permissions

// ANCHOR: watches
func setupWidgets(m ctrl.Manager, r reconcile.Reconciler) error {
	// Enqueues the Widget with the name of the ConfigMap.
	sameName := func(_ context.Context, object client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(object)}}
	}
	return ctrl.NewControllerManagedBy(m).
		For(&Widget{}).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(sameName)).
		Complete(r)
}

// ANCHOR_END: watches

// ANCHOR: index
const ownerIndex = ".metadata.controller"

func addOwnerIndex(ctx context.Context, m ctrl.Manager) error {
	owner := func(object client.Object) []string {
		controller := metav1.GetControllerOf(object)
		if controller == nil {
			return nil
		}
		return []string{string(controller.UID)}
	}
	return m.GetFieldIndexer().IndexField(ctx, &batchv1.Job{}, ownerIndex, owner)
}

func jobsOf(ctx context.Context, c client.Client, namespace string, owner types.UID) ([]batchv1.Job, error) {
	var jobs batchv1.JobList
	err := c.List(ctx, &jobs, client.InNamespace(namespace), client.MatchingFields{ownerIndex: string(owner)})
	return jobs.Items, err
}

// ANCHOR_END: index

// ANCHOR: apply
func applyLabel(ctx context.Context, c client.Client, node, class string) error {
	intent := corev1apply.Node(node).WithLabels(map[string]string{"example.dev/size-class": class})
	return c.Apply(ctx, intent, client.FieldOwner("node-labeler"), client.ForceOwnership)
}

// ANCHOR_END: apply

// ANCHOR: finalizer
const finalizer = "bench.kubewright.dev/bucket"

func reconcileBucket(ctx context.Context, c client.Client, widget *Widget) error {
	if !widget.DeletionTimestamp.IsZero() {
		if !controllerutil.ContainsFinalizer(widget, finalizer) {
			return nil
		}
		if err := deleteBucket(widget); err != nil {
			return err
		}
		controllerutil.RemoveFinalizer(widget, finalizer)
		return c.Update(ctx, widget)
	}
	if controllerutil.AddFinalizer(widget, finalizer) {
		if err := c.Update(ctx, widget); err != nil {
			return err
		}
	}
	return createBucket(widget)
}

// ANCHOR_END: finalizer

func createBucket(*Widget) error { return nil }

func deleteBucket(*Widget) error { return nil }

// ANCHOR: leader
func leaderOptions() ctrl.Options {
	return ctrl.Options{
		LeaderElection:                true,
		LeaderElectionID:              "widgets.bench.kubewright.dev",
		LeaderElectionReleaseOnCancel: true,
	}
}

// ANCHOR_END: leader
