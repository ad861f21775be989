// SPDX-License-Identifier: Apache-2.0
// Messages by Google's C++ decoder; see protobuf_oracle.h.

#include "tests/fuzz/protobuf_oracle.h"

#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include <google/protobuf/compiler/parser.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

// A file of proto/ between two symbols; the assembler looks for it where the compiler was told to.
#define EMBED(symbol, file)                                                                        \
    __asm__(".pushsection .rodata\n" #symbol "_begin:\n.incbin \"" file "\"\n" #symbol             \
            "_end:\n.popsection\n");                                                               \
    extern "C" {                                                                                   \
    extern const char symbol##_begin[];                                                            \
    extern const char symbol##_end[];                                                              \
    }

EMBED(oracle_dra, "proto/dra.proto")
EMBED(oracle_grpc_health, "proto/grpc_health.proto")
EMBED(oracle_kube, "proto/kube.proto")
EMBED(oracle_projection, "proto/projection.proto")
EMBED(oracle_registration, "proto/registration.proto")
EMBED(oracle_store, "proto/store.proto")

namespace {

namespace pb = google::protobuf;

// Cuts out what only nanopb's generator reads, so that its own file needs not be there.
std::string without_nanopb(std::string text)
{
    const std::string import = "import \"nanopb.proto\";";
    if (size_t at = text.find(import); at != std::string::npos) {
        text.erase(at, import.size());
    }
    for (size_t at = text.find("[(nanopb)"); at != std::string::npos; at = text.find("[(nanopb)")) {
        text.erase(at, text.find(']', at) + 1 - at);
    }
    return text;
}

class Types {
public:
    Types()
    {
        pb::SetLogHandler(nullptr); // refusals are what the target looks for
        add("dra", oracle_dra_begin, oracle_dra_end);
        add("grpc_health", oracle_grpc_health_begin, oracle_grpc_health_end);
        add("kube", oracle_kube_begin, oracle_kube_end);
        add("projection", oracle_projection_begin, oracle_projection_end);
        add("registration", oracle_registration_begin, oracle_registration_end);
        add("store", oracle_store_begin, oracle_store_end);
    }

    // An empty message of the type; one of each is made, and used again.
    pb::Message *message(const std::string &name)
    {
        std::unique_ptr<pb::Message> &made = messages_[name];
        if (made == nullptr) {
            const pb::Descriptor *type = pool_.FindMessageTypeByName(name);
            if (type == nullptr) {
                abort();
            }
            made.reset(factory_.GetPrototype(type)->New());
        }
        made->Clear();
        return made.get();
    }

private:
    void add(const char *name, const char *begin, const char *end)
    {
        const std::string text = without_nanopb(std::string(begin, end));
        pb::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
        pb::io::Tokenizer tokens(&input, nullptr);
        pb::FileDescriptorProto file;
        pb::compiler::Parser parser;
        file.set_name(name);
        if (!parser.Parse(&tokens, &file) || pool_.BuildFile(file) == nullptr) {
            abort();
        }
    }

    pb::DescriptorPool pool_;
    pb::DynamicMessageFactory factory_{&pool_};
    std::map<std::string, std::unique_ptr<pb::Message>> messages_;
};

} // namespace

int oracle_decode(const char *name, const uint8_t *data, size_t len, struct oracle_form *form)
{
    static Types *const types = new Types; // lives as long as the program
    pb::Message *message = types->message(name);
    if (!message->ParseFromArray(data, static_cast<int>(len))) {
        return ORACLE_REFUSED;
    }
    message->DiscardUnknownFields();
    if (message->ByteSizeLong() > form->cap) {
        return ORACLE_TOO_LONG;
    }
    pb::io::ArrayOutputStream array(form->data, static_cast<int>(form->cap));
    pb::io::CodedOutputStream stream(&array);
    stream.SetSerializationDeterministic(true);
    if (!message->SerializePartialToCodedStream(&stream)) {
        abort();
    }
    form->len = static_cast<size_t>(stream.ByteCount());
    return ORACLE_TAKEN;
}
