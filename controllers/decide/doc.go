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

// Package decide makes the decisions about releases. All functions are pure, in objects, facts and the time: no client, no clock,
// no logger.
//
// # The check of a batch
//
// A ChangePod is a state machine. edgesOf is its table; NextCall, AdvanceChangePod and ApplyVerdict read it.
//
//	phase             call       taken           pass         fail         unchecked
//	"", PreWait       begin      PreSubmitted    -            -            PreFailed *
//	PreSubmitted      ask PRE    -               PostWait     PreFailed *  PreTimeout *
//	PostWait          finish     PostSubmitted   PostFinish * PostFinish * PostFailed *
//	PostSubmitted     ask POST   -               PostFinish * PostFinish * PostTimeout *
//	PreTimeout *      -          -               -            PreFailed *  -
//	PostFailed *      -          -               PostFinish * PostFinish * -
//	PostTimeout *     -          -               PostFinish * PostFinish * -
//	PreFailed *       -          -               -            -            -
//	PostFinish *      -          -               -            -            -
//
// A phase with a star is final: the status is ExecuteDone, and the phase is its message. The columns are the events: the verifier
// accepted the call, the verdict of the stage is known, or the check ended without one because it is not wanted, the verifier refused
// it, or the deadline has passed. A call that is not accepted leaves the batch in its phase until the deadline.
//
// With spec.serverCheck, checks of VerificationPolicies decide what follows from a fail: it is in status.serverResults, and that of PRE leads to PostWait.
//
// The check of an order, of a release in steps as a whole, is a ChangePod without pods. It waits in PostWait for the last step, without a deadline.
package decide
