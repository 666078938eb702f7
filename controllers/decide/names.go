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

package decide

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

const (
	separator = "--x--"
	// maxNumberLength leaves room for the number of a ChangePod behind the name of its ChangeWorkload.
	maxNumberLength = len(separator) + 19
	hashLength      = 10
)

// ChangeWorkloadName returns <deployment>--x--<version>, the name of the record and of the kept template of a release. A long name of a
// Deployment is shortened as by ShortName. Another kind of workload needs its kind in the name, to differ from a Deployment.
func ChangeWorkloadName(deployment, version string) string {
	room := validation.DNS1123SubdomainMaxLength - maxNumberLength - len(separator) - len(version)
	return ShortName(deployment, room) + separator + version
}

// ChangePodName returns <changeworkload>--x--<number>.
func ChangePodName(changeWorkload string, number int64) string {
	return changeWorkload + separator + strconv.FormatInt(number, 10)
}

// ChangePodNumber returns the number in the name of a ChangePod, 0 where it has none.
func ChangePodNumber(name string) int64 {
	digits, found := afterLast(name, separator)
	number, err := strconv.ParseInt(digits, 10, 64)
	if !found || err != nil || number < 0 {
		return 0
	}
	return number
}

// BatchOfLabel returns the value of LabelBatchOf on the ChangePods of a release.
func BatchOfLabel(changeWorkload types.UID, release int64) string {
	return string(changeWorkload) + "." + strconv.FormatInt(release, 10)
}

// checkJobName returns <workload>-<check>-<release>-<hash>, the name of the Job of a check, shortened to what a label can hold. The hash is that
// of the record, the release, the policy and the check: a workload that is created again begins with release 1.
func checkJobName(name string, record *appv1alpha1.ChangeWorkload, policy types.UID, check string) string {
	release := strconv.FormatInt(record.Spec.Release, 10)
	sum := sha256.Sum256([]byte(strings.Join([]string{string(record.UID), release, string(policy), check}, "/")))
	name = strings.ReplaceAll(name, ".", "-") + "-" + check + "-" + release
	if room := validation.LabelValueMaxLength - hashLength - 1; len(name) > room {
		name = strings.TrimRight(name[:room], "-")
	}
	return name + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

// LabelValue returns a name as a label value, shortened as by ShortName where it is too long.
func LabelValue(name string) string {
	return ShortName(name, validation.LabelValueMaxLength)
}

// ShortName returns a name of at most room bytes: the beginning of a longer name, and a hash of all of it.
func ShortName(name string, room int) string {
	if len(name) <= room {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := hex.EncodeToString(sum[:])[:hashLength]
	// A segment of a name may not end in a dot or dash before the dash that is added here.
	return strings.TrimRight(name[:room-hashLength-1], ".-") + "-" + hash
}

func afterLast(s, separator string) (after string, found bool) {
	at := strings.LastIndex(s, separator)
	if at < 0 {
		return "", false
	}
	return s[at+len(separator):], true
}
