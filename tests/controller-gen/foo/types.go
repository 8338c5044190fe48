// The kind of examples/sample-controller, as a Go author would write it.
//
// +groupName=samplecontroller.k8s.io
// +versionName=v1alpha1
package foo

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// A Deployment of a number of replicas.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, experimental-only"
type Foo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec FooSpec `json:"spec"`
	// +optional
	Status *FooStatus `json:"status,omitempty"`
}

// The desired state of a Foo: the Deployment to create.
type FooSpec struct {
	DeploymentName string `json:"deploymentName"`
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
}

// The observed state of a Foo.
type FooStatus struct {
	AvailableReplicas int32 `json:"availableReplicas"`
}
