// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"fmt"

	resource "k8s.io/api/resource/v1"
	v1beta1 "k8s.io/api/resource/v1beta1"
	v1beta2 "k8s.io/api/resource/v1beta2"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Objects are kept as v1; these turn them into the other versions and back, by the published types
// and their JSON names.

// recast fills `to` with what it has in common with `from`.
func recast[T any](from any) *T {
	to := new(T)
	if err := json.Unmarshal(must(json.Marshal(from)), to); err != nil {
		panic(err)
	}
	return to
}

// withMeta puts the whole metadata back: JSON does not keep all of it.
func withMeta[T any](to *T, at, from *meta.ObjectMeta) *T {
	from.DeepCopyInto(at)
	return to
}

func basicSlice(slice *resource.ResourceSlice) *v1beta1.ResourceSlice {
	plain := slice.DeepCopy()
	plain.Spec.Devices = nil
	to := recast[v1beta1.ResourceSlice](plain)
	for i := range slice.Spec.Devices {
		d := &slice.Spec.Devices[i]
		to.Spec.Devices = append(to.Spec.Devices,
			v1beta1.Device{Name: d.Name, Basic: recast[v1beta1.BasicDevice](d)})
	}
	return withMeta(to, &to.ObjectMeta, &slice.ObjectMeta)
}

func sliceIn(version string, slice *resource.ResourceSlice) marshaler {
	switch version {
	case "v1beta1":
		return basicSlice(slice)
	case "v1beta2":
		to := recast[v1beta2.ResourceSlice](slice)
		return withMeta(to, &to.ObjectMeta, &slice.ObjectMeta)
	}
	return slice
}

func listIn(version string, list *resource.ResourceSliceList) marshaler {
	switch version {
	case "v1beta1":
		to := &v1beta1.ResourceSliceList{ListMeta: list.ListMeta}
		for i := range list.Items {
			to.Items = append(to.Items, *basicSlice(&list.Items[i]))
		}
		return to
	case "v1beta2":
		to := &v1beta2.ResourceSliceList{ListMeta: list.ListMeta}
		for i := range list.Items {
			to.Items = append(to.Items, *sliceIn(version, &list.Items[i]).(*v1beta2.ResourceSlice))
		}
		return to
	}
	return list
}

func claimListIn(version string, list *resource.ResourceClaimList) marshaler {
	switch version {
	case "v1beta1":
		to := &v1beta1.ResourceClaimList{ListMeta: list.ListMeta}
		for i := range list.Items {
			to.Items = append(to.Items, *claimIn(version, &list.Items[i]).(*v1beta1.ResourceClaim))
		}
		return to
	case "v1beta2":
		to := &v1beta2.ResourceClaimList{ListMeta: list.ListMeta}
		for i := range list.Items {
			to.Items = append(to.Items, *claimIn(version, &list.Items[i]).(*v1beta2.ResourceClaim))
		}
		return to
	}
	return list
}

func claimIn(version string, claim *resource.ResourceClaim) marshaler {
	switch version {
	case "v1beta1":
		to := recast[v1beta1.ResourceClaim](claim)
		return withMeta(to, &to.ObjectMeta, &claim.ObjectMeta)
	case "v1beta2":
		to := recast[v1beta2.ResourceClaim](claim)
		return withMeta(to, &to.ObjectMeta, &claim.ObjectMeta)
	}
	return claim
}

// sliceFrom reads what the agent wrote; the envelope must name the version of the path.
func sliceFrom(version string, body []byte) (*resource.ResourceSlice, error) {
	var u runtime.Unknown
	if len(body) > 4 {
		if err := u.Unmarshal(body[4:]); err != nil {
			return nil, err
		}
	}
	if u.APIVersion != groupName+"/"+version {
		return nil, fmt.Errorf("apiVersion %q in the envelope, %q in the path", u.APIVersion, version)
	}
	slice := &resource.ResourceSlice{}
	switch version {
	case "v1beta1":
		from := &v1beta1.ResourceSlice{}
		if err := open(body, "ResourceSlice", from); err != nil {
			return nil, err
		}
		slice = recast[resource.ResourceSlice](from)
		for i := range from.Spec.Devices {
			d := &from.Spec.Devices[i]
			if d.Basic == nil {
				return nil, fmt.Errorf("device %s: basic is required", d.Name)
			}
			slice.Spec.Devices[i] = *recast[resource.Device](d.Basic)
			slice.Spec.Devices[i].Name = d.Name
		}
		return withMeta(slice, &slice.ObjectMeta, &from.ObjectMeta), nil
	case "v1beta2":
		from := &v1beta2.ResourceSlice{}
		if err := open(body, "ResourceSlice", from); err != nil {
			return nil, err
		}
		slice = recast[resource.ResourceSlice](from)
		return withMeta(slice, &slice.ObjectMeta, &from.ObjectMeta), nil
	}
	return slice, open(body, "ResourceSlice", slice)
}
