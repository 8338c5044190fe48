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

// trackedLock serializes writes of a lease with the cancellation of its candidate. A candidate that is cancelled during a write does not
// know the lease's new resource version, so its release conflicts, and client-go does not retry the release.
type trackedLock struct {
	resourcelock.Interface
	writeMutex sync.Mutex
}

func (lock *trackedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	lock.writeMutex.Lock()
	defer lock.writeMutex.Unlock()
	return lock.Interface.Create(ctx, record)
}

func (lock *trackedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	lock.writeMutex.Lock()
	defer lock.writeMutex.Unlock()
	return lock.Interface.Update(ctx, record)
}

// betweenWrites calls do while no write is in flight.
func (lock *trackedLock) betweenWrites(do func()) {
	lock.writeMutex.Lock()
	defer lock.writeMutex.Unlock()
	do()
}

// lead starts a candidate that acquires the lease, and a second one that waits until the first has released it. It prints who starts and
// who stops leading.
func lead(ctx context.Context, config *rest.Config, namespace string) error {
	client, err := kubernetes.NewForConfig(protobuf(config))
	if err != nil {
		return err
	}
	var candidates sync.WaitGroup
	candidate := func(name string) (leading <-chan struct{}, cancel context.CancelFunc, err error) {
		leases, err := resourcelock.New(resourcelock.LeasesResourceLock, namespace, "candidates",
			client.CoreV1(), client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: name})
		if err != nil {
			return nil, nil, err
		}
		lock := &trackedLock{Interface: leases}
		ctx, end := context.WithCancel(ctx)
		started := make(chan struct{})
		candidates.Go(func() {
			leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
				Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 500 * time.Millisecond,
				ReleaseOnCancel: true,
				Callbacks: leaderelection.LeaderCallbacks{
					OnStartedLeading: func(context.Context) {
						fmt.Println("leader:", name, "leads")
						close(started)
					},
					OnStoppedLeading: func() { fmt.Println("leader:", name, "stops") },
					OnNewLeader:      func(leader string) { fmt.Println("leader:", name, "sees", leader) },
				},
			})
		})
		return started, func() { lock.betweenWrites(end) }, nil
	}
	leading, cancel, err := candidate("first")
	if err != nil {
		return err
	}
	<-leading
	secondLeading, cancelSecond, err := candidate("second")
	if err != nil {
		return err
	}
	select {
	case <-secondLeading:
		return fmt.Errorf("two candidates lead at the same time")
	case <-time.After(2 * time.Second):
	}
	cancel()
	<-secondLeading
	cancelSecond()
	candidates.Wait()
	return nil
}
