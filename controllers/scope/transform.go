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

package scope

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RevisionAnnotation numbers the ReplicaSets of a Deployment; the deployment controller writes it.
const RevisionAnnotation = "deployment.kubernetes.io/revision"

// The functions below keep of an object what a reconciler reads. An object from the cache is therefore never sent back
// whole: every write is a patch of the fields that the operator owns.

func slimNamespace(object any) (any, error) {
	if namespace, ok := object.(*corev1.Namespace); ok {
		return &corev1.Namespace{ObjectMeta: slimMeta(namespace.ObjectMeta)}, nil
	}
	return object, nil
}

func slimDeployment(object any) (any, error) {
	deployment, ok := object.(*appsv1.Deployment)
	if !ok {
		return object, nil
	}
	slim := &appsv1.Deployment{ObjectMeta: slimMeta(deployment.ObjectMeta)}
	slim.Generation = deployment.Generation
	slim.Annotations = deployment.Annotations
	delete(slim.Annotations, corev1.LastAppliedConfigAnnotation)
	slim.Spec.Replicas = deployment.Spec.Replicas
	slim.Spec.Paused = deployment.Spec.Paused
	slim.Spec.MinReadySeconds = deployment.Spec.MinReadySeconds
	slim.Status.Replicas = deployment.Status.Replicas
	slim.Status.UpdatedReplicas = deployment.Status.UpdatedReplicas
	return slim, nil
}

func slimReplicaSet(object any) (any, error) {
	replicaSet, ok := object.(*appsv1.ReplicaSet)
	if !ok {
		return object, nil
	}
	slim := &appsv1.ReplicaSet{ObjectMeta: slimMeta(replicaSet.ObjectMeta)}
	if revision, numbered := replicaSet.Annotations[RevisionAnnotation]; numbered {
		slim.Annotations = map[string]string{RevisionAnnotation: revision}
	}
	return slim, nil
}

func slimPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	slim := &corev1.Pod{ObjectMeta: slimMeta(pod.ObjectMeta)}
	slim.Spec.Hostname = pod.Spec.Hostname
	slim.Status.PodIP = pod.Status.PodIP
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			slim.Status.Conditions = []corev1.PodCondition{{
				Type: condition.Type, Status: condition.Status, LastTransitionTime: condition.LastTransitionTime,
			}}
		}
	}
	return slim, nil
}

func slimMeta(meta metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:              meta.Name,
		Namespace:         meta.Namespace,
		UID:               meta.UID,
		ResourceVersion:   meta.ResourceVersion,
		CreationTimestamp: meta.CreationTimestamp,
		DeletionTimestamp: meta.DeletionTimestamp,
		Labels:            meta.Labels,
		OwnerReferences:   meta.OwnerReferences,
	}
}
