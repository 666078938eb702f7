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

// eachPage lists objects page by page, each page into a fresh list. A long list may outlive the version that it began with: then it begins anew,
// once, and what was used of it is dropped at the page that is the first one.
func eachPage[L client.ObjectList](ctx context.Context, c client.Reader, fresh func() L, use func(page L, isFirst bool) error, options ...client.ListOption) error {
	begunAnew := false
	for next := ""; ; {
		page := fresh()
		err := c.List(ctx, page, append(slices.Clone(options), client.Limit(pageSize), client.Continue(next))...)
		if apierrors.IsResourceExpired(err) && next != "" && !begunAnew {
			begunAnew, next = true, ""
			continue
		}
		if err != nil {
			return err
		}
		if err := use(page, next == ""); err != nil {
			return err
		}
		if next = page.GetContinue(); next == "" {
			return nil
		}
	}
}
