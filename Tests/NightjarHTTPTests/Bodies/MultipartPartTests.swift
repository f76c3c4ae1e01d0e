import NIOCore
import Testing

@testable import NightjarHTTP

@Suite struct MultipartPartTests {
    private func text(_ part: MultipartForm.Part) -> String? {
        if case .bytes(let bytes) = part.content { String(buffer: bytes) } else { nil }
    }

    @Test func fieldsHaveValuesOfAnyType() {
        let parts: [MultipartForm.Part] = [
            .field("a", "x y"), .field("b", 3), .field("c", true), .field("d", [1, 2]), .field("e", 0.5),
        ]
        #expect(parts.map(\.name) == ["a", "b", "c", "d", "e"])
        #expect(parts.map(text) == ["x y", "3", "true", "[1,2]", "0.5"])
        #expect(parts.allSatisfy { $0.filename == nil && $0.contentType == nil })
    }

    @Test func filesHaveNamesAndTypes() throws {
        let onDisk = MultipartForm.Part.file("photo", path: "/home/me/cat.png")
        #expect(onDisk.filename == "cat.png" && onDisk.contentType == nil)
        let renamed = MultipartForm.Part.file("photo", path: "/home/me/cat.png", filename: "a.bin", type: "image/x-a")
        #expect(renamed.filename == "a.bin" && renamed.contentType == "image/x-a")
        let inMemory = try MultipartForm.Part.file("data", bytes: [65, 66], filename: "a.txt")
        #expect(text(inMemory) == "AB" && inMemory.filename == "a.txt")
    }
}
