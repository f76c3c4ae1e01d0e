import NightjarCrypto
import NightjarHTTP
import NightjarStorage
import NightjarSystem

/// The files of a download: its target, and the open part with what an earlier download has received. Created on a
/// worker thread.
final class DownloadPlace: @unchecked Sendable {
    let target: DownloadTarget
    let part: PartFile
    /// The part that is continued. Nil: the download starts at the first byte.
    let record: DownloadRecord?
    let urlHash: String
    private let urlName: String?

    /// - Parameter method: Only the download of a GET request can be continued.
    /// - Throws: `invalid_argument`; `content_changed` if a state text cannot be continued; `storage`.
    init(
        _ path: String, _ url: RequestURL, _ method: Method, _ settings: DownloadSettings
    ) throws(NightjarError) {
        target = try DownloadTarget(path)
        urlHash = url.sha256
        urlName = FileName.last(of: url.target)
        if case .state(let text) = settings.resumption {
            guard method == .get else {
                throw NightjarError(.invalidArgument, "resume needs a GET request, got \(method)")
            }
            let (part, record) = try DownloadPlace.open(DownloadRecord(text), settings.mode)
            (self.part, self.record) = (part, record)
            try part.checkFileSystem(of: target.folder)
            try part.keep(record)
            return
        }
        part = try PartFile(target.part(urlHash: urlHash, urlName: urlName), mode: settings.mode)
        var found: DownloadRecord?
        if case .automatic = settings.resumption, method == .get { found = part.record() }
        let isSame = found?.validator != nil && found?.urlHash == urlHash
        record = isSame ? found : nil
        if let record { try part.keep(record) } else { try part.reset() }
    }

    /// Opens the part of a state text. The text may come from elsewhere, so that a part that does not belong to it is not
    /// changed.
    private static func open(
        _ given: DownloadRecord, _ mode: UInt16?
    ) throws(NightjarError) -> (PartFile, DownloadRecord) {
        // A text of other origin must not name another file, which would be overwritten.
        guard given.part.utf8.suffix(PartFile.suffix.utf8.count).elementsEqual(PartFile.suffix.utf8) else {
            throw NightjarError(.invalidArgument, "resume is not the state of a download; pass a text of state()")
        }
        let part: PartFile
        do throws(NightjarError) {
            part = try PartFile(given.part, mode: mode, creates: false)
        } catch {
            guard error.code == ENOENT else { throw error }
            throw cannotContinue("the part \(quoted(given.part)) does not exist")
        }
        guard let record = part.record(), record.validator != nil, record.validator == given.validator else {
            throw cannotContinue("the state file of \(quoted(given.part)) is missing or differs from resume")
        }
        return (part, record)
    }

    private static func cannotContinue(_ reason: String) -> NightjarError {
        NightjarError(.contentChanged, "the download cannot continue: \(reason); start over without resume")
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

extension RequestURL {
    /// The SHA-256 digest of the URL without credentials and fragment, in hexadecimal digits.
    var sha256: String { Hexadecimal.encode(Digest.sha256(Array((origin.description + target).utf8))) }
}
