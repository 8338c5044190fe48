package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// inform runs an informer until the process is killed: a typed informer with protobuf for ConfigMaps, a dynamic informer for Notes. It
// prints "set NAME VERSION TEXT" or "gone NAME" for each change.
func inform(ctx context.Context, config *rest.Config, namespace, kind string) error {
	informer, err := informerOf(config, namespace, kind)
	if err != nil {
		return err
	}
	set := func(object any) {
		it, err := meta.Accessor(object)
		if err != nil {
			panic(err)
		}
		fmt.Println("set", it.GetName(), it.GetResourceVersion(), text(object))
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    set,
		UpdateFunc: func(_, object any) { set(object) },
		DeleteFunc: func(object any) {
			name, err := cache.DeletionHandlingObjectToName(object)
			if err != nil {
				panic(err)
			}
			fmt.Println("gone", name.Name)
		},
	})
	if err != nil {
		return err
	}
	informer.RunWithContext(ctx)
	return nil
}

func informerOf(config *rest.Config, namespace, kind string) (cache.SharedIndexInformer, error) {
	if kind == "ConfigMap" {
		client, err := kubernetes.NewForConfig(protobuf(config))
		if err != nil {
			return nil, err
		}
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
		return factory.Core().V1().ConfigMaps().Informer(), nil
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, namespace, nil)
	notes := schema.GroupVersionResource{Group: "clients.dev", Version: "v1", Resource: "notes"}
	return factory.ForResource(notes).Informer(), nil
}

func text(object any) string {
	switch it := object.(type) {
	case *corev1.ConfigMap:
		return it.Data["text"]
	case *unstructured.Unstructured:
		text, _, _ := unstructured.NestedString(it.Object, "data", "text")
		return text
	}
	panic("unexpected kind of object")
}
