import NightjarHTTP

extension Call {
    /// Sets the Authorization field of the request. Nil removes the field.
    func setAuthorization(_ value: String?) -> Verdict {
        do throws(NightjarError) {
            request = try request.setting("Authorization", value)
            return .proceed
        } catch {
            return .fail(error)
        }
    }
}
