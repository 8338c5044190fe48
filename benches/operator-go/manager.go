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

// idle runs three idle controllers and prints "ready" when their caches have synced.
func idle() error {
	m, err := newManager(nil)
	if err != nil {
		return err
	}
	kinds := []client.Object{&Widget{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}}
	for _, kind := range kinds {
		noOp := reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, nil })
		if err := ctrl.NewControllerManagedBy(m).For(kind).Complete(noOp); err != nil {
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
	go answerCountRequests()
	return m.Start(ctrl.SetupSignalHandler())
}
