package org.rdmapanama.samples.log;

import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/** A primary that appends records until it is killed, and prints {@code committed INDEX TEXT} for each. */
final class LogAppender {
    private LogAppender() {}

    /** Arguments: the transport, a name, which the records have in them, the file, its size, and the ports of the others. */
    public static void main(String[] arguments) throws Exception {
        List<InetSocketAddress> others = Arrays.stream(arguments, 4, arguments.length)
                .map(port -> new InetSocketAddress("127.0.0.1", Integer.parseInt(port)))
                .toList();
        Duration limit = Duration.ofSeconds(30);
        try (Primary primary = Primary.takeOver(
                LogTransport.valueOf(arguments[0]),
                Path.of(arguments[2]),
                Long.parseLong(arguments[3]),
                others,
                Durability.MEMORY,
                limit)) {
            for (int i = 0; ; i++) {
                String text = arguments[1] + "-" + i;
                long index = primary.commit(text.getBytes(StandardCharsets.UTF_8), limit);
                System.out.print("committed " + index + " " + text + "\n");
                System.out.flush();
                Thread.sleep(1); // enough records, and not more than the file takes
            }
        }
    }
}
