import CLibFuzzer
import CNIOBoringSSL

// Encryption, signatures and Finished messages are disabled, so that modified messages reach the code after them.
CRYPTO_set_fuzzer_mode(1)
if CommandLine.arguments.dropFirst().first == "--record" {
    // FuzzTLS --record FOLDER CERTIFICATE KEY writes the seeds.
    try record(Array(CommandLine.arguments.dropFirst(2)))
} else {
    exit_with_fuzzer(CommandLine.argc, CommandLine.unsafeArgv, fuzzTLS)
}
