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

package declared

import (
	"context"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// layer is a kind that may be between a workload and its pods. The operator caches those of the kinds that are built in.
type layer struct {
	object func() client.Object
	list   func() client.ObjectList
}

func layers() map[schema.GroupKind]layer {
	return map[schema.GroupKind]layer{
		{Group: appsv1.GroupName, Kind: "Deployment"}: {
			func() client.Object { return &appsv1.Deployment{} }, func() client.ObjectList { return &appsv1.DeploymentList{} },
		},
		replicaSets(): {
			func() client.Object { return &appsv1.ReplicaSet{} }, func() client.ObjectList { return &appsv1.ReplicaSetList{} },
		},
		{Group: appsv1.GroupName, Kind: "StatefulSet"}: {
			func() client.Object { return &appsv1.StatefulSet{} }, func() client.ObjectList { return &appsv1.StatefulSetList{} },
		},
		{Group: appsv1.GroupName, Kind: "DaemonSet"}: {
			func() client.Object { return &appsv1.DaemonSet{} }, func() client.ObjectList { return &appsv1.DaemonSetList{} },
		},
		{Group: batchv1.GroupName, Kind: "Job"}: {
			func() client.Object { return &batchv1.Job{} }, func() client.ObjectList { return &batchv1.JobList{} },
		},
	}
}

func replicaSets() schema.GroupKind {
	return schema.GroupKind{Group: appsv1.GroupName, Kind: "ReplicaSet"}
}

// layered is a workload.Layered: of a kind that has a ReplicaSet for each release.
type layered struct{}

// Layer returns an empty ReplicaSet.
func (layered) Layer() client.Object { return &appsv1.ReplicaSet{} }

// Revision reads a ReplicaSet.
func (layered) Revision(object client.Object) decide.Revision {
	replicaSet, ok := object.(*appsv1.ReplicaSet)
	if !ok {
		return decide.Revision{}
	}
	return workload.ReplicaSetRevision(replicaSet, numberOf(replicaSet))
}

// numberOf returns the number that the controller of a ReplicaSet gave it, and raises if it goes back to its template. The annotation with it is named
// after the kind, such as rollout.argoproj.io/revision. Without one, the last ReplicaSet created is the newest revision.
func numberOf(replicaSet *appsv1.ReplicaSet) int64 {
	if owner := metav1.GetControllerOfNoCopy(replicaSet); owner != nil {
		named := schema.FromAPIVersionAndKind(owner.APIVersion, strings.ToLower(owner.Kind)).GroupKind()
		if number, err := strconv.ParseInt(replicaSet.Annotations[named.String()+"/revision"], 10, 64); err == nil {
			return number
		}
	}
	return replicaSet.CreationTimestamp.Unix()
}

// revisions lists the ReplicaSets of a workload.
func (l layered) revisions(ctx context.Context, cache client.Reader, object client.Object) ([]decide.Revision, error) {
	var list appsv1.ReplicaSetList
	if err := index.Owned(ctx, cache, &list, object.GetNamespace(), object.GetUID()); err != nil {
		return nil, err
	}
	revisions := make([]decide.Revision, 0, len(list.Items))
	for i := range list.Items {
		revisions = append(revisions, l.Revision(&list.Items[i]))
	}
	return revisions, nil
}
