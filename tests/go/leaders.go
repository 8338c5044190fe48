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

// written knows when a lease is being written: who is cancelled in the middle of that does not know the version that the server then
// has, and client-go does not try again to give such a lease back.
type written struct {
	resourcelock.Interface
	writing sync.Mutex
}

func (lock *written) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	lock.writing.Lock()
	defer lock.writing.Unlock()
	return lock.Interface.Create(ctx, record)
}

func (lock *written) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	lock.writing.Lock()
	defer lock.writing.Unlock()
	return lock.Interface.Update(ctx, record)
}

// quietly does something between two writes.
func (lock *written) quietly(do func()) {
	lock.writing.Lock()
	defer lock.writing.Unlock()
	do()
}

// lead lets a second candidate wait for a lease that the first one holds, and gives back; then the second does. It says who leads and
// who no longer does.
func lead(ctx context.Context, config *rest.Config, namespace string) error {
	client, err := kubernetes.NewForConfig(protobuf(config))
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	candidate := func(name string) (leads <-chan struct{}, cancel context.CancelFunc, err error) {
		leases, err := resourcelock.New(resourcelock.LeasesResourceLock, namespace, "candidates",
			client.CoreV1(), client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: name})
		if err != nil {
			return nil, nil, err
		}
		lock := &written{Interface: leases}
		ctx, end := context.WithCancel(ctx)
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
		return leading, func() { lock.quietly(end) }, nil
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
