import Nightjar
import NightjarHTTP

/// Names and values that C borrows from the buffer of the headers, where each is followed by a NUL. They are valid as long
/// as the headers, or an unchanged copy of them, exist.
extension Headers {
    /// Returns the value of the first field named `name`.
    func lendValue(_ name: UnsafePointer<CChar>?) -> UnsafePointer<CChar>? {
        guard let name = text(name), let index = firstIndex(of: name) else { return nil }
        return lendValue(at: index)
    }

    func lendName(at index: Int) -> UnsafePointer<CChar>? {
        guard 0..<count ~= index else { return nil }
        return withBytes(at: index) { name, _ in name.baseAddress?.assumingMemoryBound(to: CChar.self) }
    }

    func lendValue(at index: Int) -> UnsafePointer<CChar>? {
        guard 0..<count ~= index else { return nil }
        return withBytes(at: index) { _, value in value.baseAddress?.assumingMemoryBound(to: CChar.self) }
    }
}
