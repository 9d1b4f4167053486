"""moto's S3 on loopback, with a bucket and a user; run by `serve`."""

import json
import os
import time

# Requests that need no signature: those that make the user and the bucket.
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "4"
# Tests have small parts, and lists of several pages.
os.environ["S3_UPLOAD_PART_MIN_SIZE"] = "65536"
os.environ["MOTO_S3_DEFAULT_MAX_KEYS"] = "7"

import boto3
from moto.moto_server.threaded_moto_server import ThreadedMotoServer

BUCKET = "contents"
REGION = "us-east-1"
USER = "gateway"


def client(url, service):
    return boto3.client(
        service, endpoint_url=url, region_name=REGION, aws_access_key_id="none",
        aws_secret_access_key="none",
    )


def main():
    parent = os.getppid()
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    iam = client(url, "iam")
    iam.create_user(UserName=USER)
    key = iam.create_access_key(UserName=USER)["AccessKey"]
    may = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [may]})
    iam.put_user_policy(UserName=USER, PolicyName="contents", PolicyDocument=policy)
    client(url, "s3").create_bucket(Bucket=BUCKET)
    place = {"url": url, "bucket": BUCKET, "region": REGION}
    keys = {"accessKey": key["AccessKeyId"], "secretKey": key["SecretAccessKey"]}
    print(json.dumps(place | keys), flush=True)
    while os.getppid() == parent:
        time.sleep(0.2)


main()
