package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Last in each list and each series of events; see src/pods.
const markerNamespace = "zz-marker"

// Keys that the worker was given.
var worked atomic.Int64

// What the worker reads; kept, so that it is read.
var lastVersion string

// subject keeps Pods as a controller of the sample-controller's make does. It says "ready", begins when it is sent a line, says
// "marker" whenever the worker comes to the marker. To the line "count" it says "worked" and how many keys the worker was given, to the
// line "gc" it says "collected" when all garbage is.
func subject(encoding, url string) error {
	contentType := "application/json"
	if encoding == "protobuf" {
		contentType = protobuf
	}
	config := &rest.Config{Host: url, ContentConfig: rest.ContentConfig{ContentType: contentType}}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	lines.Scan()

	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
	enqueue := func(object any) {
		name, err := cache.DeletionHandlingObjectToName(object)
		if err != nil {
			panic(err)
		}
		queue.Add(name)
	}
	_, err = pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, object any) { enqueue(object) },
		DeleteFunc: enqueue,
	})
	if err != nil {
		return err
	}
	lister := pods.Lister()
	factory.Start(context.Background().Done())
	factory.WaitForCacheSync(context.Background().Done())
	go work(queue, lister)
	for lines.Scan() {
		switch lines.Text() {
		case "count":
			fmt.Println("worked", worked.Load())
		case "gc":
			runtime.GC()
			debug.FreeOSMemory()
			fmt.Println("collected")
		}
	}
	return nil
}

func work(queue workqueue.TypedRateLimitingInterface[cache.ObjectName], lister listers.PodLister) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		if pod, err := lister.Pods(key.Namespace).Get(key.Name); err == nil {
			lastVersion = read(pod)
		}
		queue.Forget(key)
		queue.Done(key)
		worked.Add(1)
		if key.Namespace == markerNamespace {
			fmt.Println("marker")
		}
	}
}

func read(pod *corev1.Pod) string {
	return pod.ResourceVersion
}
