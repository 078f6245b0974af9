package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmapanama.address.Gid;

class GidTextTest {
    @ParameterizedTest
    @CsvSource({
        "00000000000000000000000000000000, ::",
        "00000000000000000000000000000001, ::1",
        "00000000000000000000ffff0a4d0001, ::ffff:10.77.0.1",
        "00000000000012b80000ffffc0000202, ::12b8:0:ffff:192.0.2.2",
        "00000000000112b80000ffffc0000202, ::1:12b8:0:ffff:c000:202",
        "fe80000000000000000000fffe4d0001, fe80::ff:fe4d:1",
        "20010db8000000010000000000000001, 2001:db8:0:1::1",
        "20010db8000100020003000400050006, 2001:db8:1:2:3:4:5:6",
        "20010db8000000020003000400050006, 2001:db8:0:2:3:4:5:6",
        "20010db8000000000001000000000000, 2001:db8:0:0:1::",
    })
    void shouldWriteGidsAsShortAddresses(String digits, String text) {
        assertEquals(text, GidText.of(Gid.parse(digits)));
    }
}
