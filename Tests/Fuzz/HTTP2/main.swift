import CLibFuzzer
import Glibc

let finished = loop.submit { exit_with_fuzzer(CommandLine.argc, CommandLine.unsafeArgv, fuzzHTTP2) }
// libFuzzer recognizes an input that takes too long only if the thread of the fuzzer receives SIGALRM.
var alarms = sigset_t()
sigemptyset(&alarms)
sigaddset(&alarms, SIGALRM)
pthread_sigmask(SIG_BLOCK, &alarms, nil)
// exit_with_fuzzer does not return.
try finished.wait()
