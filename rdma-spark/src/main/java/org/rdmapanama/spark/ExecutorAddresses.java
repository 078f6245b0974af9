package org.rdmapanama.spark;

import java.net.InetSocketAddress;
import java.security.SecureRandom;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkException;
import org.apache.spark.rpc.RpcCallContext;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.rpc.ThreadSafeRpcEndpoint;
import org.apache.spark.util.RpcUtils;
import scala.PartialFunction;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * Knows at the driver where executors listen, and tells other executors. Messages are arrays of strings, because the threads
 * that read them do not find the classes of a jar that the user has added.
 */
final class ExecutorAddresses implements ThreadSafeRpcEndpoint {
    /** What an executor asks of it. */
    static final class Client {
        private final RpcEndpointRef driver;

        /** Finds the driver of an executor. */
        Client(SparkConf conf, RpcEnv env) {
            driver = RpcUtils.makeDriverRef(NAME, conf, env);
        }

        /** Returns what executors show each other, so that nobody else reads their blocks. */
        byte[] secret() {
            return (byte[]) ask(SECRET);
        }

        /** Tells where an executor listens. */
        void listens(String executor, InetSocketAddress address) {
            ask(LISTENS, executor, address.getAddress().getHostAddress(), Integer.toString(address.getPort()));
        }

        /** Asks where an executor listens; empty if it does not. */
        Optional<InetSocketAddress> find(String executor) {
            String[] found = (String[]) ask(FIND, executor);
            return found.length == 0
                    ? Optional.empty()
                    : Optional.of(new InetSocketAddress(found[0], Integer.parseInt(found[1])));
        }

        private Object ask(String... message) {
            try {
                return answer(message);
            } catch (SparkException e) {
                throw new IllegalStateException("the driver does not answer: " + e.getMessage(), e);
            }
        }

        /** Scala does not declare what it throws. */
        private Object answer(String... message) throws SparkException {
            return driver.askSync(message, ClassTag$.MODULE$.apply(Object.class));
        }
    }

    private static final String NAME = "rdma-shuffle";
    private static final String SECRET = "secret";
    private static final String LISTENS = "listens";
    private static final String FIND = "find";
    private static final int LISTENS_PARTS = 4;
    private static final int FIND_PARTS = 2;
    private static final int SECRET_BYTES = 16;

    private final RpcEnv env;
    private final byte[] secret = new byte[SECRET_BYTES];

    /** Host and port, by the names of the executors. */
    private final Map<String, String[]> addresses = new ConcurrentHashMap<>();

    private ExecutorAddresses(RpcEnv env) {
        this.env = env;
        new SecureRandom().nextBytes(secret);
    }

    /** Starts it at the driver. */
    static void serve(RpcEnv env) {
        env.setupEndpoint(NAME, new ExecutorAddresses(env));
    }

    @Override
    public RpcEnv rpcEnv() {
        return env;
    }

    @Override
    public PartialFunction<Object, BoxedUnit> receiveAndReply(RpcCallContext call) {
        return new AbstractPartialFunction<>() {
            @Override
            public boolean isDefinedAt(Object message) {
                return message instanceof String[] parts && parts.length > 0;
            }

            @Override
            public BoxedUnit apply(Object message) {
                call.reply(answer((String[]) message));
                return BoxedUnit.UNIT;
            }
        };
    }

    private Object answer(String... parts) {
        if (parts[0].equals(SECRET)) {
            return secret.clone();
        }
        if (parts[0].equals(LISTENS) && parts.length == LISTENS_PARTS) {
            addresses.put(parts[1], new String[] {parts[2], parts[3]});
            return new String[0];
        }
        if (parts[0].equals(FIND) && parts.length == FIND_PARTS) {
            return addresses.getOrDefault(parts[1], new String[0]);
        }
        throw new IllegalArgumentException("no message of this version: " + parts[0]);
    }
}
