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

// OrderState says how far a change order at AlterShield Server is.
// +kubebuilder:validation:Enum=Pending;Open;Refused;SUCCESS;ROLLBACK;CANCEL
type OrderState string

const (
	// OrderPending means that the server has not taken the order yet; it is sent again.
	OrderPending OrderState = "Pending"
	// OrderOpen means that the server has the order, and checks the batches of the release under it.
	OrderOpen OrderState = "Open"
	// OrderRefused means that the server doesn't take the order, so the release is not checked.
	OrderRefused OrderState = "Refused"
	// OrderSuccess ends an order whose release was verified.
	OrderSuccess OrderState = "SUCCESS"
	// OrderRollback ends an order whose Deployment went back to a version that was verified before.
	OrderRollback OrderState = "ROLLBACK"
	// OrderCancel ends an order that another release took over from, or whose Deployment was deleted.
	OrderCancel OrderState = "CANCEL"
)

// ChangeOrder is the change order of one release.
type ChangeOrder struct {
	// bizExecOrderId identifies the release at the server, for ever: <cluster>/<namespace>/<deployment>/<hash>/<release>.
	// +kubebuilder:validation:MaxLength=128
	BizExecOrderID string `json:"bizExecOrderId"`
	// orderId is the server's own id; empty where the server had the order already.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	OrderID string `json:"orderId,omitempty"`
	// release is the spec.release that the order is for.
	Release int64 `json:"release"`
	// closeDeadline is until when the server is told that the release ended, which it didn't hear at once.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +optional
	CloseDeadline *metav1.Time `json:"closeDeadline,omitempty"`
	// state says how far the order is.
	State OrderState `json:"state"`
}

// RecordedRelease identifies an earlier release of a ChangeWorkload.
type RecordedRelease struct {
	// release is the spec.release that it had.
	Release int64 `json:"release"`
	// createTimeUnix is the spec.createTimeUnix that it had.
	CreateTimeUnix int64 `json:"createTimeUnix"`
}

// CheckStage is a stage of the check of a batch.
// +kubebuilder:validation:Enum=PRE;POST
type CheckStage string

const (
	// StagePre is the check before a batch takes effect.
	StagePre CheckStage = "PRE"
	// StagePost is the check after a batch has taken effect.
	StagePost CheckStage = "POST"
)

// EarlyVerdict is a verdict that waits for its ChangePod.
type EarlyVerdict struct {
	// changePodId is the server's id of the check.
	// +kubebuilder:validation:MaxLength=256
	ChangePodID string `json:"changePodId"`
	// stage is the stage that the verdict is for.
	Stage CheckStage `json:"stage"`
	// verdict is pass or unpass.
	Verdict Verdict `json:"verdict"`
	// message says why the check gave its verdict.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
	// time is when the verdict arrived.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	Time metav1.MicroTime `json:"time"`
}
