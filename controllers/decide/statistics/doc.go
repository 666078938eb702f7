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

// Package statistics decides whether the pods of a release are worse than the others. It has no I/O, no clock and no randomness: each look
// computes again from everything seen since the release began, so a verdict is the same whoever computes it.
//
// Concurrent and Before judge counters, Gauges values of pods, Rare restarts and the like, Threshold a fixed objective. The null hypothesis
// is never equality but a tolerated ratio. A Budget divides the false alarms that one release may have among its checks. What can't be
// known is Inconclusive: a check without data, traffic or enough pods never fails.
package statistics
