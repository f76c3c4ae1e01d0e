import Glibc

/// Runs `body`, which writes files, so that a limit on their size is an error like a full disk: by default the system ends
/// the process of who writes beyond it (SIGXFSZ), and this process is somebody else's.
package func withoutFileSizeSignal<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
) throws(Failure) -> Result {
    var signal = sigset_t()
    var previous = sigset_t()
    sigemptyset(&signal)
    sigaddset(&signal, SIGXFSZ)
    pthread_sigmask(SIG_BLOCK, &signal, &previous)
    defer {
        let code = errno  // which is for the caller to read
        // Blocked before us: then so is what happened meanwhile, and the caller's to see.
        if sigismember(&previous, SIGXFSZ) == 0 {
            var none = timespec()
            while sigtimedwait(&signal, nil, &none) == SIGXFSZ {}
            pthread_sigmask(SIG_SETMASK, &previous, nil)
        }
        errno = code
    }
    return try body()
}
