import CLibFuzzer

exit_with_fuzzer(CommandLine.argc, CommandLine.unsafeArgv, fuzzGraphQL)
