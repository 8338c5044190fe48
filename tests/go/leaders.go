package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lead lets a second candidate wait for a lease that the first one holds, and gives back; then the second does. It says who leads and
// who no longer does.
func lead(ctx context.Context, config *rest.Config, namespace string) error {
	client, err := kubernetes.NewForConfig(protobuf(config))
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	candidate := func(name string) (leads <-chan struct{}, cancel context.CancelFunc, err error) {
		lock, err := resourcelock.New(resourcelock.LeasesResourceLock, namespace, "candidates",
			client.CoreV1(), client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: name})
		if err != nil {
			return nil, nil, err
		}
		ctx, cancel := context.WithCancel(ctx)
		leading := make(chan struct{})
		all.Go(func() {
			leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
				Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 500 * time.Millisecond,
				ReleaseOnCancel: true,
				Callbacks: leaderelection.LeaderCallbacks{
					OnStartedLeading: func(context.Context) {
						fmt.Println("leader:", name, "leads")
						close(leading)
					},
					OnStoppedLeading: func() { fmt.Println("leader:", name, "stops") },
					OnNewLeader:      func(leader string) { fmt.Println("leader:", name, "sees", leader) },
				},
			})
		})
		return leading, cancel, nil
	}
	leads, cancel, err := candidate("first")
	if err != nil {
		return err
	}
	<-leads
	seconds, cancelSecond, err := candidate("second")
	if err != nil {
		return err
	}
	select {
	case <-seconds:
		return fmt.Errorf("two lead at once")
	case <-time.After(2 * time.Second):
	}
	cancel()
	<-seconds
	cancelSecond()
	all.Wait()
	return nil
}
