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

// The namespace of the end marker, the last object of each list and each series of events; see src/pods.
const endMarkerNamespace = "zz-marker"

// The number of keys that the worker has processed.
var workedKeys atomic.Int64

// The value that the worker read last. It is stored so that the compiler does not remove the read.
var lastVersion string

// subject caches Pods as the sample-controller does. It prints "ready", starts when it reads a line, and prints "marker" each time the
// worker processes the end marker. It answers the line "count" with "worked" and the number of processed keys, and the line "gc" with
// "collected" after a garbage collection.
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
	go runWorker(queue, lister)
	for lines.Scan() {
		switch lines.Text() {
		case "count":
			fmt.Println("worked", workedKeys.Load())
		case "gc":
			runtime.GC()
			debug.FreeOSMemory()
			fmt.Println("collected")
		}
	}
	return nil
}

func runWorker(queue workqueue.TypedRateLimitingInterface[cache.ObjectName], lister listers.PodLister) {
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
		workedKeys.Add(1)
		if key.Namespace == endMarkerNamespace {
			fmt.Println("marker")
		}
	}
}

func read(pod *corev1.Pod) string {
	return pod.ResourceVersion
}
