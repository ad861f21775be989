/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The generated messages against bytes that the published definitions give: numbers, presence,
 * sizes, and the build's choices (UTF-8 checked, unknown fields skipped). Knows no protocol above
 * protobuf.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "generated/dra.pb.h"
#include "generated/grpc_health.pb.h"
#include "generated/kube.pb.h"
#include "generated/projection.pb.h"
#include "generated/registration.pb.h"
#include "generated/store.pb.h"
#include "pb_decode.h"
#include "pb_encode.h"

#define BYTES_MAX 512

struct bytes {
    uint8_t data[BYTES_MAX];
    size_t len;
};

static uint8_t hex_digit(char c)
{
    return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static struct bytes from_hex(const char *hex)
{
    struct bytes out = {.len = strlen(hex) / 2};

    assert_true(out.len <= sizeof out.data);
    for (size_t i = 0; i < out.len; i++) {
        out.data[i] = (uint8_t)(hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]));
    }
    return out;
}

static void assert_encodes(const pb_msgdesc_t *type, const void *message, const char *hex)
{
    struct bytes want = from_hex(hex);
    uint8_t got[BYTES_MAX];
    pb_ostream_t stream = pb_ostream_from_buffer(got, sizeof got);

    assert_true(pb_encode(&stream, type, message));
    assert_int_equal(stream.bytes_written, want.len);
    assert_memory_equal(got, want.data, want.len);
}

static bool decodes(const pb_msgdesc_t *type, void *message, const char *hex)
{
    struct bytes in = from_hex(hex);
    pb_istream_t stream = pb_istream_from_buffer(in.data, in.len);

    return pb_decode(&stream, type, message);
}

static void registration_messages(void **state)
{
    pluginregistration_PluginInfo info = {
        .type = "DRAPlugin",
        .name = "gpu.example.com",
        .endpoint = "/var/lib/kubelet/plugins/gpu.example.com/dra.sock",
        .supported_versions_count = 2,
        .supported_versions = {"v1.DRAPlugin", "v1beta1.DRAPlugin"},
    };
    pluginregistration_RegistrationStatus status = {0};

    (void)state;
    assert_encodes(pluginregistration_PluginInfo_fields, &info,
                   "0a09445241506c7567696e120f6770752e657861"
                   "6d706c652e636f6d1a312f7661722f6c69622f6b75"
                   "62656c65742f706c7567696e732f6770752e6578"
                   "616d706c652e636f6d2f6472612e736f636b220c76"
                   "312e445241506c7567696e22117631"
                   "62657461312e445241506c7567696e");
    assert_true(decodes(pluginregistration_RegistrationStatus_fields, &status, "0801"));
    assert_true(status.plugin_registered);
}

struct claims {
    unsigned count;
    dra_Claim last;
};

static bool take_claim(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    struct claims *claims = *arg;

    (void)field;
    claims->count++;
    return pb_decode(stream, dra_Claim_fields, &claims->last);
}

static void prepare_request(void **state)
{
    struct claims claims = {0};
    dra_NodePrepareResourcesRequest request = {.claims = {{.decode = take_claim}, &claims}};

    (void)state;
    assert_true(decodes(dra_NodePrepareResourcesRequest_fields, &request,
                        "0a0e0a036e73311203752d311a026331"
                        "0a0e0a036e73321203752d321a026332"));
    assert_int_equal(claims.count, 2);
    assert_string_equal(claims.last.namespace, "ns2");
    assert_string_equal(claims.last.uid, "u-2");
    assert_string_equal(claims.last.name, "c2");
}

static bool give_device(pb_ostream_t *stream, const pb_field_t *field, void *const *arg)
{
    return pb_encode_tag_for_field(stream, field) &&
           pb_encode_submessage(stream, dra_Device_fields, *arg);
}

static bool give_entry(pb_ostream_t *stream, const pb_field_t *field, void *const *arg)
{
    return pb_encode_tag_for_field(stream, field) &&
           pb_encode_submessage(stream, dra_NodePrepareResourcesResponse_ClaimsEntry_fields, *arg);
}

static void prepare_response(void **state)
{
    dra_Device device = {
        .request_names_count = 1,
        .request_names = {"gpu"},
        .pool_name = "node-a",
        .device_name = "gpu-0",
        .cdi_device_ids_count = 1,
        .cdi_device_ids = {"gpu.example.com/claim=u-1"},
    };
    dra_NodePrepareResourcesResponse_ClaimsEntry entry = {.key = "u-1", .has_value = true};
    dra_NodePrepareResourcesResponse response = {.claims = {{.encode = give_entry}, &entry}};

    (void)state;
    assert_encodes(dra_NodePrepareResourcesResponse_fields, &response, "0a070a03752d311200");
    entry.value.devices.funcs.encode = give_device;
    entry.value.devices.arg = &device;
    assert_encodes(dra_NodePrepareResourcesResponse_fields, &response,
                   "0a380a03752d3112310a2f0a0367707512066e6f"
                   "64652d611a056770752d3022196770752e6578616d"
                   "706c652e636f6d2f636c61696d3d752d31");
    entry.value.devices.funcs.encode = NULL;
    strcpy(entry.value.error, "boom");
    assert_encodes(dra_NodePrepareResourcesResponse_fields, &response,
                   "0a0d0a03752d3112061204626f6f6d");
}

static void unprepare_response(void **state)
{
    dra_NodeUnprepareResourcesResponse_ClaimsEntry entry = {.key = "u-1", .has_value = true};

    (void)state;
    assert_encodes(dra_NodeUnprepareResourcesResponse_ClaimsEntry_fields, &entry, "0a03752d311200");
}

static void share_id_has_presence(void **state)
{
    dra_Device device = {.has_share_id = true};

    (void)state;
    assert_encodes(dra_Device_fields, &device, "2a00");
    device.has_share_id = false;
    assert_encodes(dra_Device_fields, &device, "");
}

static void health_status(void **state)
{
    grpc_health_HealthCheckResponse response = {
        .status = grpc_health_HealthCheckResponse_ServingStatus_NOT_SERVING};

    (void)state;
    assert_encodes(grpc_health_HealthCheckResponse_fields, &response, "0802");
}

static void attribute_values_have_presence(void **state)
{
    kube_DeviceAttribute attribute = {.has_int_value = true};

    (void)state;
    assert_encodes(kube_DeviceAttribute_fields, &attribute, "1000");
    attribute = (kube_DeviceAttribute){.has_bool_value = true};
    assert_encodes(kube_DeviceAttribute_fields, &attribute, "1800");
    attribute = (kube_DeviceAttribute){.has_string_value = true};
    assert_encodes(kube_DeviceAttribute_fields, &attribute, "2200");
    attribute = (kube_DeviceAttribute){.has_version_value = true, .version_value = "2.19.0"};
    assert_encodes(kube_DeviceAttribute_fields, &attribute, "2a06322e31392e30");
}

static void slice_metadata(void **state)
{
    kube_ObjectMeta meta = {
        .has_generateName = true,
        .generateName = "00000-gpu.example.com-node-a-",
        .ownerReferences_count = 1,
        .ownerReferences = {{.has_kind = true,
                             .kind = "Node",
                             .has_name = true,
                             .name = "node-a",
                             .has_uid = true,
                             .uid = "6f3c",
                             .has_apiVersion = true,
                             .apiVersion = "v1",
                             .has_controller = true,
                             .controller = true}},
    };

    (void)state;
    assert_encodes(kube_ObjectMeta_fields, &meta,
                   "121d30303030302d6770752e6578616d706c652e"
                   "636f6d2d6e6f64652d612d6a1a0a044e6f64651a06"
                   "6e6f64652d612204366633632a0276313001");
}

static void unknown_fields_are_skipped(void **state)
{
    store_StoredResult result = {0};

    (void)state;
    /* device_index = 5, then fields 100 to 103: varint, bytes, fixed64, fixed32. */
    assert_true(decodes(store_StoredResult_fields, &result,
                        "2805a00601aa0603616263b1060102030405060708bd0601020304"));
    assert_true(result.has_device_index);
    assert_int_equal(result.device_index, 5);
}

static void present_but_empty(void **state)
{
    projection_MetaRecord meta = {0};

    (void)state;
    assert_true(decodes(projection_MetaRecord_fields, &meta, "0a00"));
    assert_true(meta.has_name);
    assert_string_equal(meta.name, "");
    assert_false(meta.has_namespace);
}

static void bad_input_is_refused(void **state)
{
    static const char *const bad[] = {
        "0a02c328",               /* name: invalid UTF-8 */
        "0a03eda080",             /* name: a surrogate */
        "0a05616263",             /* length past the end */
        "0affffffffffffffffff7f", /* length over 64 bits */
        "0b0c",                   /* a group */
        "00",                     /* field number 0 */
    };
    projection_MetaRecord meta;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        meta = (projection_MetaRecord){0};
        assert_false(decodes(projection_MetaRecord_fields, &meta, bad[i]));
    }
}

static void text_over_its_bound_is_refused(void **state)
{
    char hex[2 * (2 + sizeof((projection_WatchTypeRecord *)0)->type) + 1] = "0a10";
    projection_WatchTypeRecord record = {0};

    (void)state;
    memset(hex + 4, '6', 32); /* 16 times "f": one more than fits beside the NUL */
    hex[36] = '\0';
    assert_false(decodes(projection_WatchTypeRecord_fields, &record, hex));
    memcpy(hex, "0a0f", 4);
    hex[34] = '\0';
    assert_true(decodes(projection_WatchTypeRecord_fields, &record, hex));
    assert_int_equal(strlen(record.type), 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registration_messages),
        cmocka_unit_test(prepare_request),
        cmocka_unit_test(prepare_response),
        cmocka_unit_test(unprepare_response),
        cmocka_unit_test(share_id_has_presence),
        cmocka_unit_test(health_status),
        cmocka_unit_test(attribute_values_have_presence),
        cmocka_unit_test(slice_metadata),
        cmocka_unit_test(unknown_fields_are_skipped),
        cmocka_unit_test(present_but_empty),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(text_over_its_bound_is_refused),
    };

    return cmocka_run_group_tests_name("protobuf", tests, NULL, NULL);
}
