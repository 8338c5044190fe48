package main

import (
	"context"
	"fmt"
	"net"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// webhooks validates Widgets at an address, with the certificate in a folder, and prints "ready" when the manager has started.
func webhooks(address, certificates string) error {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return err
	}
	m, err := newManager(webhook.NewServer(webhook.Options{Host: host, Port: port, CertDir: certificates}))
	if err != nil {
		return err
	}
	if err := ctrl.NewWebhookManagedBy(m, &Widget{}).WithValidator(widgetValidator{}).Complete(); err != nil {
		return err
	}
	err = m.Add(manager.RunnableFunc(func(ctx context.Context) error {
		fmt.Println("ready")
		<-ctx.Done()
		return nil
	}))
	if err != nil {
		return err
	}
	go answerCountRequests()
	return m.Start(ctrl.SetupSignalHandler())
}

type widgetValidator struct{}

func (widgetValidator) ValidateCreate(_ context.Context, widget *Widget) (admission.Warnings, error) {
	return nil, validateReplicas(widget)
}

func (widgetValidator) ValidateUpdate(_ context.Context, _, widget *Widget) (admission.Warnings, error) {
	return nil, validateReplicas(widget)
}

func (widgetValidator) ValidateDelete(context.Context, *Widget) (admission.Warnings, error) {
	return nil, nil
}

func validateReplicas(widget *Widget) error {
	if widget.Spec.Replicas >= 0 {
		return nil
	}
	path := field.NewPath("spec", "replicas")
	causes := field.ErrorList{field.Invalid(path, widget.Spec.Replicas, "must be at least 0")}
	return apierrors.NewInvalid(groupVersion.WithKind("Widget").GroupKind(), widget.Name, causes)
}
