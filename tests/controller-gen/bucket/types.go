// The kind of examples/external-resource, as a Go author would write it.
//
// +groupName=storage.example.com
// +versionName=v1
package bucket

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// A bucket at the storage service.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
type Bucket struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec BucketSpec `json:"spec"`
	// +optional
	Status *BucketStatus `json:"status,omitempty"`
}

// The desired state of a bucket.
type BucketSpec struct {
	// +optional
	// +kubebuilder:default=false
	Versioned bool `json:"versioned,omitempty"`
}

// The observed state of a bucket.
type BucketStatus struct {
	// +optional
	ID string `json:"id,omitempty"`
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
