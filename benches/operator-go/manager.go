package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// idle runs three controllers that have nothing to do, and says when their caches are filled.
func idle() error {
	m, err := newManager()
	if err != nil {
		return err
	}
	kinds := []client.Object{&Widget{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}}
	for _, kind := range kinds {
		nothing := reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, nil })
		if err := ctrl.NewControllerManagedBy(m).For(kind).Complete(nothing); err != nil {
			return err
		}
	}
	err = m.Add(manager.RunnableFunc(func(ctx context.Context) error {
		for _, kind := range kinds {
			if _, err := m.GetCache().GetInformer(ctx, kind); err != nil {
				return err
			}
		}
		if m.GetCache().WaitForCacheSync(ctx) {
			fmt.Println("ready")
		}
		<-ctx.Done()
		return nil
	}))
	if err != nil {
		return err
	}
	go answer()
	return m.Start(ctrl.SetupSignalHandler())
}
