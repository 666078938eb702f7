/*
Copyright 2026 The AlterShield Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// OrderState is the state of a change order at AlterShield Server.
// +kubebuilder:validation:Enum=Pending;Open;Refused;SUCCESS;ROLLBACK;CANCEL
type OrderState string

const (
	// OrderPending means that the server has not accepted the order yet. It is sent again.
	OrderPending OrderState = "Pending"
	// OrderOpen means that the server has the order and checks the batches of the release.
	OrderOpen OrderState = "Open"
	// OrderRefused means that the server refused the order, so the release is not checked.
	OrderRefused OrderState = "Refused"
	// OrderSuccess closes an order whose release was verified.
	OrderSuccess OrderState = "SUCCESS"
	// OrderRollback closes an order whose workload went back to a verified version.
	OrderRollback OrderState = "ROLLBACK"
	// OrderCancel closes an order whose release was superseded, or whose workload was deleted.
	OrderCancel OrderState = "CANCEL"
)

// ChangeOrder is the change order of one release.
type ChangeOrder struct {
	// bizExecOrderId identifies the release at the server: <cluster>/<namespace>/<workload>/<hash>/<release>. It is never
	// reused.
	// +kubebuilder:validation:MaxLength=128
	BizExecOrderID string `json:"bizExecOrderId"`
	// orderId is the server's own ID of the order; empty if the server had the order already.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	OrderID string `json:"orderId,omitempty"`
	// release is the spec.release of the order.
	Release int64 `json:"release"`
	// openDeadline is the time until which opening the order is retried although the server rejects the operator's credentials; absent if its
	// last answer was another one.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +optional
	OpenDeadline *metav1.Time `json:"openDeadline,omitempty"`
	// closeDeadline is the time until which closing the order is retried; absent if the first attempt succeeded.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +optional
	CloseDeadline *metav1.Time `json:"closeDeadline,omitempty"`
	// state is the state of the order.
	State OrderState `json:"state"`
}

// RecordedRelease identifies an earlier release of a ChangeWorkload.
type RecordedRelease struct {
	// release is the spec.release of the earlier release.
	Release int64 `json:"release"`
	// createTimeUnix is the spec.createTimeUnix of the earlier release.
	CreateTimeUnix int64 `json:"createTimeUnix"`
}

// CheckStage is a stage of the check of a batch.
// +kubebuilder:validation:Enum=PRE;POST
type CheckStage string

const (
	// StagePre is the check before a batch takes effect.
	StagePre CheckStage = "PRE"
	// StagePost is the check after a batch took effect.
	StagePost CheckStage = "POST"
)

// EarlyVerdict is a verdict that waits for the ChangePod of its check.
type EarlyVerdict struct {
	// changePodId is the ID of the check at AlterShield Server.
	// +kubebuilder:validation:MaxLength=256
	ChangePodID string `json:"changePodId"`
	// stage is the stage of the check.
	Stage CheckStage `json:"stage"`
	// verdict is pass or unpass.
	Verdict Verdict `json:"verdict"`
	// message is the reason of the verdict.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
	// time is the time at which the verdict arrived.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	Time metav1.MicroTime `json:"time"`
}
