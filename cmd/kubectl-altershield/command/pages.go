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
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pageSize is how many objects one request lists.
const pageSize = 500

// listed lists objects page by page, each page into a fresh list, and returns what is kept of them: with a most other than 0 that of the pages until
// so many are kept, and whether there are more. A long list may outlive the version that it began with: then it begins anew, once. What was kept
// until an error is returned beside it.
func listed[L client.ObjectList, T any](
	ctx context.Context, c client.Reader, fresh func() L, most int, keep func(page L) ([]T, error), options ...client.ListOption,
) (kept []T, more bool, err error) {
	begunAnew := false
	for next := ""; ; {
		page := fresh()
		err := c.List(ctx, page, append(slices.Clone(options), client.Limit(pageSize), client.Continue(next))...)
		if apierrors.IsResourceExpired(err) && next != "" && !begunAnew {
			begunAnew, next = true, ""
			continue
		}
		if err != nil {
			return kept, false, err
		}
		if next == "" {
			kept = nil
		}
		found, err := keep(page)
		if kept = append(kept, found...); err != nil {
			return kept, false, err
		}
		if next = page.GetContinue(); next == "" || most > 0 && len(kept) >= most {
			return kept, next != "", nil
		}
	}
}
