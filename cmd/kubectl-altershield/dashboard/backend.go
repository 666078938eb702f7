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

package dashboard

import (
	"context"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// Backend reads and writes a cluster, with the rights of the user. What it lacks can't be called.
type Backend struct {
	// Reads are the calls that read, by their names.
	Reads map[string]Read
	// Acts are the calls that write, by their verbs.
	Acts map[string]Act
	// Follow hands over the records of a namespace, of all for an empty one, and each change, until the context ends or it can't go on.
	Follow func(ctx context.Context, namespace string, feed Feed) error
	// Explain returns an error of the others as it is told to the page.
	Explain func(error) Failure
}

// Read is a call that reads.
type Read struct {
	// OfWorkload reports whether the query must name a workload.
	OfWorkload bool
	Answer     func(ctx context.Context, query Query) (any, error)
}

// Act does what is asked for, or only checks it. Its answer is what is shown to the user.
type Act func(ctx context.Context, ask Ask) (any, error)

// Query is what a call is about.
type Query struct {
	// Namespace is empty for all, Kind and Name for no workload.
	Namespace, Kind, Name string
	// From and To are releases or times, as the call takes them.
	From, To string
}

// Ask is the body of a call that writes. Which fields count depends on the verb.
type Ask struct {
	Namespace string `json:"namespace"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Reason    string `json:"reason"`
	// DryRun must be given: a misspelt field must not act.
	DryRun *bool `json:"dryRun"`
	// From is the release that the user was shown; nothing is done if the workload is at another one.
	From *view.Side `json:"from"`
	// At is the state of the batch or lock that the user was shown; nothing is done if it has another one.
	At string `json:"at"`
	// To is the release or version to go back to, Step the step to go on to.
	To   string `json:"to"`
	Step string `json:"step"`
	// ChangePod is a batch, Verdict pass or fail, Pod one of its pods or empty for all.
	ChangePod string `json:"changePod"`
	Verdict   string `json:"verdict"`
	Pod       string `json:"pod"`
	// Lock is the name of an incident lock, Action and Running what it does.
	Lock    string `json:"lock"`
	Action  string `json:"action"`
	Running string `json:"running"`
	// For is how long a lock or a BreakGlass lasts, Override what the latter overrides and Uses how often.
	For      string `json:"for"`
	Override string `json:"override"`
	Uses     int32  `json:"uses"`
}

// Feed takes the records that are followed. Its methods may be called by one goroutine at a time.
type Feed interface {
	// Replace takes all records.
	Replace(records []appv1alpha1.ChangeWorkload)
	// Set takes a record that is new or has changed, Remove one that is gone.
	Set(record appv1alpha1.ChangeWorkload)
	Remove(record appv1alpha1.ChangeWorkload)
	// Stale takes the reason why nothing can be read at present.
	Stale(failure Failure)
}

// Failure is why a call was refused or failed.
type Failure struct {
	Status int `json:"-"`
	// Reason is for programs, Message a sentence for people.
	Reason  Reason `json:"reason"`
	Message string `json:"error"`
}

// Reason is why a call was refused or failed. The values are a contract.
type Reason string

const (
	// Unauthorized means that the call hasn't the key.
	Unauthorized Reason = "Unauthorized"
	// Spent means that the address for one browser was opened before.
	Spent Reason = "Spent"
	// Expired means that the address for one browser was opened too late.
	Expired Reason = "Expired"
	// ForeignHost means that the call was made to another name than the address of the server.
	ForeignHost Reason = "ForeignHost"
	// ForeignOrigin means that another page made the call.
	ForeignOrigin Reason = "ForeignOrigin"
	// ReadOnly means that the server was started without the verbs that write.
	ReadOnly Reason = "ReadOnly"
	// Forbidden means that the user lacks a right.
	Forbidden Reason = "Forbidden"
	// NotFound means that there is no such call, object or page.
	NotFound Reason = "NotFound"
	// MethodNotAllowed means that the call takes another method.
	MethodNotAllowed Reason = "MethodNotAllowed"
	// Conflict means that an object has changed since it was shown.
	Conflict Reason = "Conflict"
	// Invalid means that the call is wrong, or that it can't be done now.
	Invalid Reason = "Invalid"
	// Denied means that the API server rejects the change.
	Denied Reason = "Denied"
	// TooMany means that too many streams are open.
	TooMany Reason = "TooMany"
	// Unavailable means that the API server doesn't answer.
	Unavailable Reason = "Unavailable"
	// Broken means an error of the server itself.
	Broken Reason = "Error"
)

// Limits of a server.
const (
	// maxBody is how long the body of a call may be.
	maxBody = 64 << 10
	// maxHeader is how long its header may be.
	maxHeader = 16 << 10
	// maxStreams is how many streams may be open.
	maxStreams = 32
	// maxIdle is how long the server waits for a call.
	maxIdle = time.Hour
	// beatInterval is how often a stream tells that it is alive.
	beatInterval = 15 * time.Second
	// writeTimeout is how long a browser may take for an answer, or for the lines of a stream that are ready.
	writeTimeout = time.Minute
)
