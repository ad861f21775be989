// SPDX-License-Identifier: Apache-2.0
// Messages by Google's C++ decoder; see protobuf_oracle.h.

#include "tests/fuzz/protobuf_oracle.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include <google/protobuf/compiler/parser.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

// A file of proto/ between two symbols; the assembler finds it in the include directories of the compiler.
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

namespace
{

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

class Types
{
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

class Writer
{
  public:
    explicit Writer(oracle_values *to) : to_(to)
    {
        to_->len = 0;
    }

    // The fields of a message by their numbers, those alone that it has.
    void fields(const pb::Message &message)
    {
        std::map<int, const pb::FieldDescriptor *> sorted;
        for (int i = 0; i < message.GetDescriptor()->field_count(); i++) {
            const pb::FieldDescriptor *field = message.GetDescriptor()->field(i);
            sorted[field->number()] = field;
        }
        for (const auto &[number, field] : sorted) {
            const pb::Reflection *values = message.GetReflection();
            if (field->is_repeated()) {
                for (int i = 0; i < values->FieldSize(message, field); i++) {
                    repeated(message, field, i);
                }
            } else if (values->HasField(message, field)) {
                single(message, field);
            }
        }
    }

    bool full() const
    {
        return full_;
    }

  private:
    void octets(const void *data, size_t len)
    {
        full_ = full_ || len > to_->cap - to_->len;
        if (!full_) {
            memcpy(to_->data + to_->len, data, len);
            to_->len += len;
        }
    }

    void head(const pb::FieldDescriptor *field, uint8_t kind)
    {
        const uint32_t number = static_cast<uint32_t>(field->number());
        octets(&number, sizeof number);
        octets(&kind, sizeof kind);
    }

    void number(const pb::FieldDescriptor *field, int64_t value)
    {
        head(field, ORACLE_NUMBER);
        octets(&value, sizeof value);
    }

    // Up to the first NUL: the agent keeps texts as C does.
    void text(const pb::FieldDescriptor *field, const std::string &value)
    {
        const uint32_t len = static_cast<uint32_t>(strlen(value.c_str()));
        if (len == 0 && !field->is_repeated() && !field->has_presence()) {
            return;
        }
        head(field, ORACLE_TEXT);
        octets(&len, sizeof len);
        octets(value.data(), len);
    }

    void message(const pb::FieldDescriptor *field, const pb::Message &value)
    {
        head(field, ORACLE_BEGIN);
        fields(value);
        head(field, ORACLE_END);
    }

    // proto/ has lists of texts and of messages alone.
    void repeated(const pb::Message &of, const pb::FieldDescriptor *field, int i)
    {
        const pb::Reflection *values = of.GetReflection();
        if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING) {
            text(field, values->GetRepeatedString(of, field, i));
        } else if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE) {
            message(field, values->GetRepeatedMessage(of, field, i));
        } else {
            abort();
        }
    }

    void single(const pb::Message &of, const pb::FieldDescriptor *field)
    {
        const pb::Reflection *values = of.GetReflection();
        switch (field->cpp_type()) {
        case pb::FieldDescriptor::CPPTYPE_INT32:
            return number(field, values->GetInt32(of, field));
        case pb::FieldDescriptor::CPPTYPE_UINT32:
            return number(field, values->GetUInt32(of, field));
        case pb::FieldDescriptor::CPPTYPE_INT64:
            return number(field, values->GetInt64(of, field));
        case pb::FieldDescriptor::CPPTYPE_UINT64:
            return number(field, static_cast<int64_t>(values->GetUInt64(of, field)));
        case pb::FieldDescriptor::CPPTYPE_BOOL:
            return number(field, values->GetBool(of, field) ? 1 : 0);
        case pb::FieldDescriptor::CPPTYPE_ENUM:
            // As nanopb has it: unsigned, because no name of proto/ stands for a negative number.
            return number(field, static_cast<uint32_t>(values->GetEnumValue(of, field)));
        case pb::FieldDescriptor::CPPTYPE_STRING:
            return text(field, values->GetString(of, field));
        case pb::FieldDescriptor::CPPTYPE_MESSAGE:
            return message(field, values->GetMessage(of, field));
        default:
            abort(); // proto/ has no such type
        }
    }

    oracle_values *to_;
    bool full_ = false;
};

} // namespace

int oracle_decode(const char *name, const uint8_t *data, size_t len, struct oracle_values *values)
{
    static Types *const types = new Types; // lives as long as the program
    pb::Message *message = types->message(name);
    if (!message->ParseFromArray(data, static_cast<int>(len))) {
        return ORACLE_REFUSED;
    }
    Writer writer(values);
    writer.fields(*message);
    return writer.full() ? ORACLE_TOO_LONG : ORACLE_TAKEN;
}
