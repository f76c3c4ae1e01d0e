import NightjarCrypto
import NightjarHTTP
import NightjarStorage

/// The files of a download: its target, and the open part with what an earlier download has received. Created on a
/// worker thread.
final class DownloadPlace: @unchecked Sendable {
    let target: DownloadTarget
    let part: PartFile
    /// The part that is continued. Nil: the download starts at the first byte.
    let record: DownloadRecord?
    let urlHash: String
    private let urlName: String?

    /// - Throws: `invalid_argument`; `storage`.
    init(_ path: String, _ url: RequestURL, _ settings: DownloadSettings) throws(NightjarError) {
        target = try DownloadTarget(path)
        urlHash = Hexadecimal.encode(Digest.sha256(Array((url.origin.description + url.target).utf8)))
        urlName = FileName.last(of: url.target)
        var given: DownloadRecord?
        if case .state(let text) = settings.resumption { given = try DownloadRecord(text) }
        // A text of other origin must not name another file, which would be overwritten.
        guard given?.part.hasSuffix(PartFile.suffix) != false else {
            throw NightjarError(.invalidArgument, "resume is not the state of a download; pass a text of state()")
        }
        part = try PartFile(given?.part ?? target.part(urlHash: urlHash, urlName: urlName), mode: settings.mode)
        let found = part.record()
        switch settings.resumption {
        case .never: record = nil
        case .automatic: record = found?.urlHash == urlHash ? found : nil
        case .state: record = found?.validator == given?.validator ? found : nil
        }
        if record == nil { try part.reset() }
    }

    func completion(_ schedule: DownloadSchedule, _ settings: DownloadSettings) -> PartFile.Completion {
        var completion = PartFile.Completion(
            target: target, name: schedule.name ?? urlName ?? DownloadTarget.defaultName,
            overwrites: settings.overwrites ?? (target.name != nil))
        completion.mode = settings.mode
        completion.modified = settings.keepsTime ? schedule.modified : nil
        return completion
    }

    static var boot: String { PartFile.boot }
}
