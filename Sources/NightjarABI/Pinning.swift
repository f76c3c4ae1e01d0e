import CNightjar
import Nightjar
import NightjarHTTP
import NightjarHandles
import NightjarTransport

/// A report of a pin mismatch as C sees it. Belongs to the thread that runs the callback.
final class PinReportBox {
    let host: CString
    let isEnforced: Bool
    let expected: [CString]
    let served: [CString]

    init(_ report: Pinning.Report) {
        host = CString(report.host)
        isEnforced = report.isEnforced
        expected = report.expected.map { CString($0.description) }
        served = report.served.map { CString($0.description) }
    }
}

@_cdecl("nj_config_on_pin_mismatch") @implementation
public func nj_config_on_pin_mismatch(
    _ config: OpaquePointer?, _ queue: OpaquePointer?, _ mismatch: nj_pin_mismatch_fn?,
    _ context: UnsafeMutableRawPointer?
) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        guard let mismatch else { return configuration.transport.tls.onPinMismatch = nil }
        let context = CallbackContext(pointer: context)
        configuration.reportPinMismatches(on: try requiredQueue(queue)) { report in
            let box = PinReportBox(report)
            withExtendedLifetime(box) { mismatch(context.pointer, Handle.lend(box)) }
        }
    }
}

@_cdecl("nj_pin_report_host") @implementation
public func nj_pin_report_host(_ report: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<PinReportBox>.borrow(report)?.host.pointer
}

@_cdecl("nj_pin_report_is_enforced") @implementation
public func nj_pin_report_is_enforced(_ report: OpaquePointer?) -> Bool {
    Handle<PinReportBox>.borrow(report)?.isEnforced ?? false
}

@_cdecl("nj_pin_report_expected_count") @implementation
public func nj_pin_report_expected_count(_ report: OpaquePointer?) -> Int {
    Handle<PinReportBox>.borrow(report)?.expected.count ?? 0
}

@_cdecl("nj_pin_report_expected_at") @implementation
public func nj_pin_report_expected_at(_ report: OpaquePointer?, _ index: Int) -> UnsafePointer<CChar>? {
    guard let pins = Handle<PinReportBox>.borrow(report)?.expected, pins.indices.contains(index) else { return nil }
    return pins[index].pointer
}

@_cdecl("nj_pin_report_served_count") @implementation
public func nj_pin_report_served_count(_ report: OpaquePointer?) -> Int {
    Handle<PinReportBox>.borrow(report)?.served.count ?? 0
}

@_cdecl("nj_pin_report_served_at") @implementation
public func nj_pin_report_served_at(_ report: OpaquePointer?, _ index: Int) -> UnsafePointer<CChar>? {
    guard let pins = Handle<PinReportBox>.borrow(report)?.served, pins.indices.contains(index) else { return nil }
    return pins[index].pointer
}

@_cdecl("nj_client_set_pinning") @implementation
public func nj_client_set_pinning(_ client: OpaquePointer?, _ mode: nj_pinning) -> nj_status {
    setting { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        switch mode {
        case NJ_PINNING_OFF: try client.setPinning(.off)
        case NJ_PINNING_REPORT: try client.setPinning(.report)
        case NJ_PINNING_ENFORCE: try client.setPinning(.enforce)
        default: throw NightjarError(.invalidArgument, "mode is not a value of nj_pinning")
        }
    }
}
