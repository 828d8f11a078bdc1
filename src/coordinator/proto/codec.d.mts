// biome-ignore-all lint: made by a program
// biome-ignore-all format: made by a program
// biome-ignore-all assist: made by a program
import * as $protobuf from "protobufjs/minimal.js";

/** Namespace percolator. */
export namespace percolator {

    /** Namespace coordinator. */
    namespace coordinator {

        /** Namespace v1. */
        namespace v1 {

            /**
             * Properties of a TimestampRequest.
             * @deprecated Use percolator.coordinator.v1.TimestampRequest.$Properties instead.
             */
            interface ITimestampRequest extends percolator.coordinator.v1.TimestampRequest.$Properties {
            }

            /** Represents a TimestampRequest. */
            class TimestampRequest {

                /**
                 * Constructs a new TimestampRequest.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: percolator.coordinator.v1.TimestampRequest.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** TimestampRequest count. */
                count: number;

                /**
                 * Encodes the specified TimestampRequest message. Does not implicitly {@link percolator.coordinator.v1.TimestampRequest.verify|verify} messages.
                 * @param message TimestampRequest message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: percolator.coordinator.v1.TimestampRequest.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a TimestampRequest message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {percolator.coordinator.v1.TimestampRequest & percolator.coordinator.v1.TimestampRequest.$Shape} TimestampRequest
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): percolator.coordinator.v1.TimestampRequest & percolator.coordinator.v1.TimestampRequest.$Shape;
            }

            namespace TimestampRequest {

                /** Properties of a TimestampRequest. */
                interface $Properties {

                    /** TimestampRequest count */
                    count?: (number|null);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of a TimestampRequest. */
                type $Shape = percolator.coordinator.v1.TimestampRequest.$Properties;
            }

            /**
             * Properties of a TimestampRange.
             * @deprecated Use percolator.coordinator.v1.TimestampRange.$Properties instead.
             */
            interface ITimestampRange extends percolator.coordinator.v1.TimestampRange.$Properties {
            }

            /** Represents a TimestampRange. */
            class TimestampRange {

                /**
                 * Constructs a new TimestampRange.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: percolator.coordinator.v1.TimestampRange.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** TimestampRange first. */
                first: number;

                /** TimestampRange count. */
                count: number;

                /**
                 * Encodes the specified TimestampRange message. Does not implicitly {@link percolator.coordinator.v1.TimestampRange.verify|verify} messages.
                 * @param message TimestampRange message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: percolator.coordinator.v1.TimestampRange.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a TimestampRange message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {percolator.coordinator.v1.TimestampRange & percolator.coordinator.v1.TimestampRange.$Shape} TimestampRange
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): percolator.coordinator.v1.TimestampRange & percolator.coordinator.v1.TimestampRange.$Shape;
            }

            namespace TimestampRange {

                /** Properties of a TimestampRange. */
                interface $Properties {

                    /** TimestampRange first */
                    first?: (number|null);

                    /** TimestampRange count */
                    count?: (number|null);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of a TimestampRange. */
                type $Shape = percolator.coordinator.v1.TimestampRange.$Properties;
            }

            /**
             * Properties of a LatestRequest.
             * @deprecated Use percolator.coordinator.v1.LatestRequest.$Properties instead.
             */
            interface ILatestRequest extends percolator.coordinator.v1.LatestRequest.$Properties {
            }

            /** Represents a LatestRequest. */
            class LatestRequest {

                /**
                 * Constructs a new LatestRequest.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: percolator.coordinator.v1.LatestRequest.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /**
                 * Encodes the specified LatestRequest message. Does not implicitly {@link percolator.coordinator.v1.LatestRequest.verify|verify} messages.
                 * @param message LatestRequest message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: percolator.coordinator.v1.LatestRequest.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a LatestRequest message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {percolator.coordinator.v1.LatestRequest & percolator.coordinator.v1.LatestRequest.$Shape} LatestRequest
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): percolator.coordinator.v1.LatestRequest & percolator.coordinator.v1.LatestRequest.$Shape;
            }

            namespace LatestRequest {

                /** Properties of a LatestRequest. */
                interface $Properties {

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of a LatestRequest. */
                type $Shape = percolator.coordinator.v1.LatestRequest.$Properties;
            }

            /**
             * Properties of a LatestTimestamp.
             * @deprecated Use percolator.coordinator.v1.LatestTimestamp.$Properties instead.
             */
            interface ILatestTimestamp extends percolator.coordinator.v1.LatestTimestamp.$Properties {
            }

            /** Represents a LatestTimestamp. */
            class LatestTimestamp {

                /**
                 * Constructs a new LatestTimestamp.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: percolator.coordinator.v1.LatestTimestamp.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** LatestTimestamp timestamp. */
                timestamp: number;

                /**
                 * Encodes the specified LatestTimestamp message. Does not implicitly {@link percolator.coordinator.v1.LatestTimestamp.verify|verify} messages.
                 * @param message LatestTimestamp message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: percolator.coordinator.v1.LatestTimestamp.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a LatestTimestamp message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {percolator.coordinator.v1.LatestTimestamp & percolator.coordinator.v1.LatestTimestamp.$Shape} LatestTimestamp
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): percolator.coordinator.v1.LatestTimestamp & percolator.coordinator.v1.LatestTimestamp.$Shape;
            }

            namespace LatestTimestamp {

                /** Properties of a LatestTimestamp. */
                interface $Properties {

                    /** LatestTimestamp timestamp */
                    timestamp?: (number|null);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of a LatestTimestamp. */
                type $Shape = percolator.coordinator.v1.LatestTimestamp.$Properties;
            }

            /**
             * Properties of a Join.
             * @deprecated Use percolator.coordinator.v1.Join.$Properties instead.
             */
            interface IJoin extends percolator.coordinator.v1.Join.$Properties {
            }

            /** Represents a Join. */
            class Join {

                /**
                 * Constructs a new Join.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: percolator.coordinator.v1.Join.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** Join session. */
                session: string;

                /** Join busy. */
                busy: boolean;

                /** Join claims. */
                claims: Uint8Array[];

                /**
                 * Encodes the specified Join message. Does not implicitly {@link percolator.coordinator.v1.Join.verify|verify} messages.
                 * @param message Join message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: percolator.coordinator.v1.Join.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a Join message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {percolator.coordinator.v1.Join & percolator.coordinator.v1.Join.$Shape} Join
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): percolator.coordinator.v1.Join & percolator.coordinator.v1.Join.$Shape;
            }

            namespace Join {

                /** Properties of a Join. */
                interface $Properties {

                    /** Join session */
                    session?: (string|null);

                    /** Join busy */
                    busy?: (boolean|null);

                    /** Join claims */
                    claims?: (Uint8Array[]|null);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of a Join. */
                type $Shape = percolator.coordinator.v1.Join.$Properties;
            }

            /**
             * Properties of a Step.
             * @deprecated Use percolator.coordinator.v1.Step.$Properties instead.
             */
            interface IStep extends percolator.coordinator.v1.Step.$Properties {
            }

            /** Represents a Step. */
            class Step {

                /**
                 * Constructs a new Step.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: percolator.coordinator.v1.Step.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** Step claim. */
                claim?: (Uint8Array|null);

                /** Step release. */
                release?: (Uint8Array|null);

                /** Step busy. */
                busy?: (boolean|null);

                /** Step step. */
                step?: ("claim"|"release"|"busy");

                /**
                 * Encodes the specified Step message. Does not implicitly {@link percolator.coordinator.v1.Step.verify|verify} messages.
                 * @param message Step message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: percolator.coordinator.v1.Step.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a Step message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {percolator.coordinator.v1.Step & percolator.coordinator.v1.Step.$Shape} Step
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): percolator.coordinator.v1.Step & percolator.coordinator.v1.Step.$Shape;
            }

            namespace Step {

                /** Properties of a Step. */
                interface $Properties {

                    /** Step claim */
                    claim?: (Uint8Array|null);

                    /** Step release */
                    release?: (Uint8Array|null);

                    /** Step busy */
                    busy?: (boolean|null);

                    /** Step step */
                    step?: ("claim"|"release"|"busy");

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Narrowed shape of a Step. */
                type $Shape = {
                  claim?: Uint8Array|null;
                  release?: Uint8Array|null;
                  busy?: boolean|null;
                  $unknowns?: Uint8Array[];
                } & (
                  ({ step?: undefined; claim?: null; release?: null; busy?: null }|{ step?: "claim"; claim: Uint8Array; release?: null; busy?: null }|{ step?: "release"; claim?: null; release: Uint8Array; busy?: null }|{ step?: "busy"; claim?: null; release?: null; busy: boolean })
                );
            }

            /**
             * Properties of a SessionRequest.
             * @deprecated Use percolator.coordinator.v1.SessionRequest.$Properties instead.
             */
            interface ISessionRequest extends percolator.coordinator.v1.SessionRequest.$Properties {
            }

            /** Represents a SessionRequest. */
            class SessionRequest {

                /**
                 * Constructs a new SessionRequest.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: percolator.coordinator.v1.SessionRequest.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** SessionRequest join. */
                join?: (percolator.coordinator.v1.Join.$Properties|null);

                /** SessionRequest steps. */
                steps: percolator.coordinator.v1.Step.$Properties[];

                /**
                 * Encodes the specified SessionRequest message. Does not implicitly {@link percolator.coordinator.v1.SessionRequest.verify|verify} messages.
                 * @param message SessionRequest message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: percolator.coordinator.v1.SessionRequest.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a SessionRequest message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {percolator.coordinator.v1.SessionRequest & percolator.coordinator.v1.SessionRequest.$Shape} SessionRequest
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): percolator.coordinator.v1.SessionRequest & percolator.coordinator.v1.SessionRequest.$Shape;
            }

            namespace SessionRequest {

                /** Properties of a SessionRequest. */
                interface $Properties {

                    /** SessionRequest join */
                    join?: (percolator.coordinator.v1.Join.$Properties|null);

                    /** SessionRequest steps */
                    steps?: (percolator.coordinator.v1.Step.$Properties[]|null);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of a SessionRequest. */
                type $Shape = {
                  join?: percolator.coordinator.v1.Join.$Shape|null;
                  steps?: percolator.coordinator.v1.Step.$Shape[]|null;
                  $unknowns?: Uint8Array[];
                };
            }

            /**
             * Properties of a SessionReply.
             * @deprecated Use percolator.coordinator.v1.SessionReply.$Properties instead.
             */
            interface ISessionReply extends percolator.coordinator.v1.SessionReply.$Properties {
            }

            /** Represents a SessionReply. */
            class SessionReply {

                /**
                 * Constructs a new SessionReply.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: percolator.coordinator.v1.SessionReply.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** SessionReply epoch. */
                epoch: string;

                /** SessionReply granted. */
                granted: boolean[];

                /**
                 * Encodes the specified SessionReply message. Does not implicitly {@link percolator.coordinator.v1.SessionReply.verify|verify} messages.
                 * @param message SessionReply message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: percolator.coordinator.v1.SessionReply.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a SessionReply message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {percolator.coordinator.v1.SessionReply & percolator.coordinator.v1.SessionReply.$Shape} SessionReply
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): percolator.coordinator.v1.SessionReply & percolator.coordinator.v1.SessionReply.$Shape;
            }

            namespace SessionReply {

                /** Properties of a SessionReply. */
                interface $Properties {

                    /** SessionReply epoch */
                    epoch?: (string|null);

                    /** SessionReply granted */
                    granted?: (boolean[]|null);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of a SessionReply. */
                type $Shape = percolator.coordinator.v1.SessionReply.$Properties;
            }

            /**
             * Properties of an AliveRequest.
             * @deprecated Use percolator.coordinator.v1.AliveRequest.$Properties instead.
             */
            interface IAliveRequest extends percolator.coordinator.v1.AliveRequest.$Properties {
            }

            /** Represents an AliveRequest. */
            class AliveRequest {

                /**
                 * Constructs a new AliveRequest.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: percolator.coordinator.v1.AliveRequest.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** AliveRequest sessions. */
                sessions: string[];

                /**
                 * Encodes the specified AliveRequest message. Does not implicitly {@link percolator.coordinator.v1.AliveRequest.verify|verify} messages.
                 * @param message AliveRequest message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: percolator.coordinator.v1.AliveRequest.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes an AliveRequest message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {percolator.coordinator.v1.AliveRequest & percolator.coordinator.v1.AliveRequest.$Shape} AliveRequest
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): percolator.coordinator.v1.AliveRequest & percolator.coordinator.v1.AliveRequest.$Shape;
            }

            namespace AliveRequest {

                /** Properties of an AliveRequest. */
                interface $Properties {

                    /** AliveRequest sessions */
                    sessions?: (string[]|null);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of an AliveRequest. */
                type $Shape = percolator.coordinator.v1.AliveRequest.$Properties;
            }

            /** Life enum. */
            enum Life {

                /** UNKNOWN value */
                UNKNOWN = 0,

                /** ALIVE value */
                ALIVE = 1,

                /** ENDED value */
                ENDED = 2
            }

            /**
             * Properties of an AliveReply.
             * @deprecated Use percolator.coordinator.v1.AliveReply.$Properties instead.
             */
            interface IAliveReply extends percolator.coordinator.v1.AliveReply.$Properties {
            }

            /** Represents an AliveReply. */
            class AliveReply {

                /**
                 * Constructs a new AliveReply.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: percolator.coordinator.v1.AliveReply.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** AliveReply lives. */
                lives: percolator.coordinator.v1.Life[];

                /**
                 * Encodes the specified AliveReply message. Does not implicitly {@link percolator.coordinator.v1.AliveReply.verify|verify} messages.
                 * @param message AliveReply message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: percolator.coordinator.v1.AliveReply.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes an AliveReply message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {percolator.coordinator.v1.AliveReply & percolator.coordinator.v1.AliveReply.$Shape} AliveReply
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): percolator.coordinator.v1.AliveReply & percolator.coordinator.v1.AliveReply.$Shape;
            }

            namespace AliveReply {

                /** Properties of an AliveReply. */
                interface $Properties {

                    /** AliveReply lives */
                    lives?: (percolator.coordinator.v1.Life[]|null);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of an AliveReply. */
                type $Shape = percolator.coordinator.v1.AliveReply.$Properties;
            }

            /**
             * Properties of an ActivityRequest.
             * @deprecated Use percolator.coordinator.v1.ActivityRequest.$Properties instead.
             */
            interface IActivityRequest extends percolator.coordinator.v1.ActivityRequest.$Properties {
            }

            /** Represents an ActivityRequest. */
            class ActivityRequest {

                /**
                 * Constructs a new ActivityRequest.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: percolator.coordinator.v1.ActivityRequest.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /**
                 * Encodes the specified ActivityRequest message. Does not implicitly {@link percolator.coordinator.v1.ActivityRequest.verify|verify} messages.
                 * @param message ActivityRequest message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: percolator.coordinator.v1.ActivityRequest.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes an ActivityRequest message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {percolator.coordinator.v1.ActivityRequest & percolator.coordinator.v1.ActivityRequest.$Shape} ActivityRequest
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): percolator.coordinator.v1.ActivityRequest & percolator.coordinator.v1.ActivityRequest.$Shape;
            }

            namespace ActivityRequest {

                /** Properties of an ActivityRequest. */
                interface $Properties {

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of an ActivityRequest. */
                type $Shape = percolator.coordinator.v1.ActivityRequest.$Properties;
            }

            /**
             * Properties of an ActivityReply.
             * @deprecated Use percolator.coordinator.v1.ActivityReply.$Properties instead.
             */
            interface IActivityReply extends percolator.coordinator.v1.ActivityReply.$Properties {
            }

            /** Represents an ActivityReply. */
            class ActivityReply {

                /**
                 * Constructs a new ActivityReply.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: percolator.coordinator.v1.ActivityReply.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** ActivityReply epoch. */
                epoch: string;

                /** ActivityReply turns. */
                turns: number;

                /** ActivityReply sessions. */
                sessions: string[];

                /** ActivityReply busy. */
                busy: string[];

                /**
                 * Encodes the specified ActivityReply message. Does not implicitly {@link percolator.coordinator.v1.ActivityReply.verify|verify} messages.
                 * @param message ActivityReply message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: percolator.coordinator.v1.ActivityReply.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes an ActivityReply message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {percolator.coordinator.v1.ActivityReply & percolator.coordinator.v1.ActivityReply.$Shape} ActivityReply
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): percolator.coordinator.v1.ActivityReply & percolator.coordinator.v1.ActivityReply.$Shape;
            }

            namespace ActivityReply {

                /** Properties of an ActivityReply. */
                interface $Properties {

                    /** ActivityReply epoch */
                    epoch?: (string|null);

                    /** ActivityReply turns */
                    turns?: (number|null);

                    /** ActivityReply sessions */
                    sessions?: (string[]|null);

                    /** ActivityReply busy */
                    busy?: (string[]|null);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of an ActivityReply. */
                type $Shape = percolator.coordinator.v1.ActivityReply.$Properties;
            }
        }
    }
}

/** Namespace grpc. */
export namespace grpc {

    /** Namespace health. */
    namespace health {

        /** Namespace v1. */
        namespace v1 {

            /**
             * Properties of a HealthCheckRequest.
             * @deprecated Use grpc.health.v1.HealthCheckRequest.$Properties instead.
             */
            interface IHealthCheckRequest extends grpc.health.v1.HealthCheckRequest.$Properties {
            }

            /** Represents a HealthCheckRequest. */
            class HealthCheckRequest {

                /**
                 * Constructs a new HealthCheckRequest.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: grpc.health.v1.HealthCheckRequest.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** HealthCheckRequest service. */
                service: string;

                /**
                 * Encodes the specified HealthCheckRequest message. Does not implicitly {@link grpc.health.v1.HealthCheckRequest.verify|verify} messages.
                 * @param message HealthCheckRequest message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: grpc.health.v1.HealthCheckRequest.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a HealthCheckRequest message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {grpc.health.v1.HealthCheckRequest & grpc.health.v1.HealthCheckRequest.$Shape} HealthCheckRequest
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): grpc.health.v1.HealthCheckRequest & grpc.health.v1.HealthCheckRequest.$Shape;
            }

            namespace HealthCheckRequest {

                /** Properties of a HealthCheckRequest. */
                interface $Properties {

                    /** HealthCheckRequest service */
                    service?: (string|null);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of a HealthCheckRequest. */
                type $Shape = grpc.health.v1.HealthCheckRequest.$Properties;
            }

            /**
             * Properties of a HealthCheckResponse.
             * @deprecated Use grpc.health.v1.HealthCheckResponse.$Properties instead.
             */
            interface IHealthCheckResponse extends grpc.health.v1.HealthCheckResponse.$Properties {
            }

            /** Represents a HealthCheckResponse. */
            class HealthCheckResponse {

                /**
                 * Constructs a new HealthCheckResponse.
                 * @param [properties] Properties to set
                 */
                constructor(properties?: grpc.health.v1.HealthCheckResponse.$Properties);

                /** Unknown fields preserved while decoding when enabled */
                $unknowns?: Uint8Array[];

                /** HealthCheckResponse status. */
                status: grpc.health.v1.HealthCheckResponse.ServingStatus;

                /**
                 * Encodes the specified HealthCheckResponse message. Does not implicitly {@link grpc.health.v1.HealthCheckResponse.verify|verify} messages.
                 * @param message HealthCheckResponse message or plain object to encode
                 * @param [writer] Writer to encode to
                 * @returns Writer
                 */
                static encode(message: grpc.health.v1.HealthCheckResponse.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

                /**
                 * Decodes a HealthCheckResponse message from the specified reader or buffer.
                 * @param reader Reader or buffer to decode from
                 * @param [length] Message length if known beforehand
                 * @returns {grpc.health.v1.HealthCheckResponse & grpc.health.v1.HealthCheckResponse.$Shape} HealthCheckResponse
                 * @throws {Error} If the payload is not a reader or valid buffer
                 * @throws {$protobuf.util.ProtocolError} If required fields are missing
                 */
                static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): grpc.health.v1.HealthCheckResponse & grpc.health.v1.HealthCheckResponse.$Shape;
            }

            namespace HealthCheckResponse {

                /** Properties of a HealthCheckResponse. */
                interface $Properties {

                    /** HealthCheckResponse status */
                    status?: (grpc.health.v1.HealthCheckResponse.ServingStatus|null);

                    /** Unknown fields preserved while decoding when enabled */
                    $unknowns?: Uint8Array[];
                }

                /** Shape of a HealthCheckResponse. */
                type $Shape = grpc.health.v1.HealthCheckResponse.$Properties;

                /** ServingStatus enum. */
                enum ServingStatus {

                    /** UNKNOWN value */
                    UNKNOWN = 0,

                    /** SERVING value */
                    SERVING = 1,

                    /** NOT_SERVING value */
                    NOT_SERVING = 2,

                    /** SERVICE_UNKNOWN value */
                    SERVICE_UNKNOWN = 3
                }
            }
        }
    }
}
