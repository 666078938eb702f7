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

// Package crd has definitions of kinds that a command needs without a cluster.
package crd

import _ "embed" // the definitions are files

// VerificationPolicy is the CustomResourceDefinition of VerificationPolicies, in YAML.
//
//go:embed bases/app.ops.cloud.alipay.com_verificationpolicies.yaml
var VerificationPolicy []byte

// ControlledKind is the CustomResourceDefinition of ControlledKinds, in YAML.
//
//go:embed bases/app.ops.cloud.alipay.com_controlledkinds.yaml
var ControlledKind []byte
