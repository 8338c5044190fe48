package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// measureReconcile prints CPU and wall-clock nanoseconds per key, from the event to the reconcile and back. ../src/bench/reconcile/ does
// the same with the other libraries. The events of all objects are enqueued before the workers start.
func measureReconcile(count string) error {
	number, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	log := zap.New()
	ctrl.SetLogger(log)
	widgets := make([]*Widget, number)
	for i := range widgets {
		widgets[i] = &Widget{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("widget-%06d", i), Namespace: fmt.Sprintf("namespace-%d", i%100), ResourceVersion: strconv.Itoa(i + 1),
		}}
	}
	var remaining atomic.Int64
	remaining.Store(int64(number))
	done := make(chan struct{})
	noOp := reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) {
		if remaining.Add(-1) == 0 {
			close(done)
		}
		return ctrl.Result{}, nil
	})
	c, err := controller.NewUnmanaged("widgets", controller.Options{Reconciler: noOp, MaxConcurrentReconciles: 64, Logger: log})
	if err != nil {
		return err
	}
	var clock time.Time
	var before uint64
	trigger := source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		clock, before = time.Now(), cpuNanos()
		handler := &handler.EnqueueRequestForObject{}
		for _, widget := range widgets {
			handler.Update(ctx, event.UpdateEvent{ObjectOld: widget, ObjectNew: widget}, queue)
		}
		return nil
	})
	if err := c.Watch(trigger); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	failed := make(chan error)
	go func() { failed <- c.Start(ctx) }()
	select {
	case <-done:
	case err := <-failed:
		return err
	}
	fmt.Println(float64(cpuNanos()-before)/float64(number), float64(time.Since(clock).Nanoseconds())/float64(number))
	return nil
}

// cpuNanos returns the CPU time of all threads of this process, in nanoseconds.
func cpuNanos() uint64 {
	files, err := filepath.Glob("/proc/self/task/*/schedstat")
	if err != nil {
		panic(err)
	}
	var sum uint64
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		ran, err := strconv.ParseUint(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			panic(err)
		}
		sum += ran
	}
	return sum
}
