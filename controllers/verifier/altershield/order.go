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

package altershield

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

const (
	// maxOrderID is the maximum length of a bizExecOrderId, in bytes.
	maxOrderID = 128
	// uniqueLength is the number of hexadecimal digits of the hash in an ID.
	uniqueLength = 10
)

// orderID returns <cluster>/<namespace>/<workload>/<hash>/<release>. The hash makes it unique forever, as the UID of the record is:
// the name of a workload, a version and even a number may recur.
func (c Config) orderID(release verifier.Release) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", release.Record, release.Recorded))
	unique := "/" + hex.EncodeToString(sum[:])[:uniqueLength] + "/" + strconv.FormatInt(release.Number, 10)
	return decide.ShortName(c.Cluster+"/"+release.Namespace+"/"+release.Name, maxOrderID-len(unique)) + unique
}
