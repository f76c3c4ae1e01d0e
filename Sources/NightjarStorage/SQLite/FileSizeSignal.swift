import CPlatform
import NightjarSystem

/// Runs `body` with SIGXFSZ blocked. A write that exceeds the file size limit then fails with EFBIG instead of ending
/// the host process. On macOS, the kernel sends the signal to the process, so that this function cannot prevent its effect.
package func withoutFileSizeSignal<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
) throws(Failure) -> Result {
    var signal = sigset_t()
    var previous = sigset_t()
    sigemptyset(&signal)
    sigaddset(&signal, SIGXFSZ)
    pthread_sigmask(SIG_BLOCK, &signal, &previous)
    defer {
        let code = errno  // for the caller
        // If the signal was blocked before, a pending signal belongs to the caller.
        if sigismember(&previous, SIGXFSZ) == 0 {
            cplatform_discard_signal(SIGXFSZ)
            pthread_sigmask(SIG_SETMASK, &previous, nil)
        }
        errno = code
    }
    return try body()
}
