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

package command

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// Code is an exit code. The values are a contract with scripts.
type Code int

const (
	// OK means that the command did what was asked; of wait: the release is verified.
	OK Code = 0
	// Failed means an error.
	Failed Code = 1
	// Usage means that the command line is wrong.
	Usage Code = 2
	// Findings means that doctor found something.
	Findings Code = 3
	// Denied means that the update would be denied.
	Denied Code = 4
	// Suspended means that the release failed its check.
	Suspended Code = 10
	// RolledBack means that the workload went back from the release.
	RolledBack Code = 11
	// Superseded means that another release took its place.
	Superseded Code = 12
	// NotChecked means that the release isn't checked.
	NotChecked Code = 13
	// Timeout means that the time ran out.
	Timeout Code = 124
	// Interrupted means Ctrl-C.
	Interrupted Code = 130
)

// ending is an error with an exit code of its own.
type ending struct {
	code Code
	err  error
}

func (e *ending) Error() string { return e.err.Error() }

func (e *ending) Unwrap() error { return e.err }

// errTold is the error of an ending about which everything was printed.
var errTold = errors.New("told") //nolint:gochecknoglobals // compared by identity

// told ends the command with a code, without a further word.
func told(code Code) error {
	if code == OK {
		return nil
	}
	return &ending{code, errTold}
}

// usageError is a mistake in the command line.
func usageError(err error) error { return &ending{Usage, err} }

// CodeOf returns the exit code of an error.
func CodeOf(err error) Code {
	var end *ending
	switch {
	case err == nil:
		return OK
	case errors.As(err, &end):
		return end.code
	case errors.Is(err, context.Canceled):
		return Interrupted
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err), apierrors.IsTimeout(err):
		return Timeout
	}
	return Failed
}

// isTimeout reports whether a request got no answer in time.
func isTimeout(err error) bool {
	var timed interface{ Timeout() bool }
	return errors.As(err, &timed) && timed.Timeout()
}

// codeOfState returns the exit code of wait for the state of a release that has ended.
func codeOfState(state view.State) Code {
	switch state {
	case view.Success:
		return OK
	case view.Suspend:
		return Suspended
	case view.RolledBack:
		return RolledBack
	case view.Superseded:
		return Superseded
	}
	return NotChecked
}
