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

package verifier

import appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"

// State describes a verifier for decisions. The zero value is that of an operator without one.
type State struct {
	// Configured reports whether there is a verifier. Name is its name.
	Configured bool
	Name       string
	// Announced reports whether a release must be announced before its batches are checked.
	Announced bool
	// ChecksOrders reports whether it checks releases as a whole, too.
	ChecksOrders bool
	// Delivers reports whether the verifier sends its verdicts. It is asked for those that don't arrive in time.
	Delivers bool
	// SwitchedOff reports whether its checks are switched off, so that everything passes.
	SwitchedOff bool
	// FailClosed reports whether unchecked batches count as failed.
	FailClosed bool
	// Fits returns how many of the pods, from the first on, one batch may hold; nil if there is no limit.
	Fits func(pods []appv1alpha1.PodSummary) int
}

// StateOf returns the state of a verifier, which may be nil. failClosed is the operator's policy.
func StateOf(of Verifier, failClosed bool) State {
	if of == nil {
		return State{}
	}
	state := State{Configured: true, Name: of.Name(), FailClosed: failClosed}
	_, state.Announced = of.(Announcer)
	_, state.ChecksOrders = of.(OrderChecker)
	_, state.Delivers = of.(Receiver)
	if off, ok := of.(Switch); ok {
		state.SwitchedOff = off.SwitchedOff()
	}
	if limited, ok := of.(Limiter); ok {
		state.Fits = limited.Fits
	}
	return state
}
